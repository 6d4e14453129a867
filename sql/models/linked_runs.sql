-- purpose: records of a run that stands in a richer record too: that one ranks and is counted, this one is not
-- grain: run_id
-- inputs: run_links, run_outcomes
create or replace view linked_runs as
-- Where the other record is gone or holds no verdict (an agent's own transcript), this one does.
select l.linked_run_id as run_id, min(l.run_id) as richer_run_id
from run_links as l
inner join run_outcomes as o on l.run_id = o.run_id
where o.decided_by <> 'nothing'
group by l.linked_run_id;
