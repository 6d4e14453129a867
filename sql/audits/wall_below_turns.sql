-- purpose: the run's wall clock is shorter than the sum of its turns
-- severity: warning
-- blocks: nothing
-- threshold: 5 % for rounding of the turns
-- needs: turns
select
    r.run_id,
    printf('wall clock %s s, its turns add up to %s s', number_text(r.wall_s, 0), number_text(t.turns_s, 0)) as message,
    r.wall_s as value,
    t.turns_s as threshold
from runs as r
inner join (
    -- The two parts before the whole: some reports print a turn's number right before its time.
    select run_id, sum(coalesce(llm_s + coalesce(tools_s, 0), wall_s) order by turn) as turns_s from turns group by run_id
) as t on r.run_id = t.run_id
where r.wall_s > 0 and t.turns_s > 1.05 * r.wall_s + 5
