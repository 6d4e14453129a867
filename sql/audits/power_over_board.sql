-- purpose: a mean power that the board cannot draw: the counter's ticks are longer than the run
-- severity: warning
-- blocks: nothing
-- doubts: power.mean
-- threshold: the named GPU's board limit in data/gpus.toml and 10 % for the regulator; else 1,500 W, above every published limit (1,400 W)
-- needs: metrics(power.mean)
with draws as (
    select
        m.run_id,
        max(m.value) as watts,
        max_by(m.subject, (m.value, m.subject)) as subject,
        max(s.gpu) as gpu,
        coalesce(1.1 * max(s.board_power_w), 1500) as limit_w
    from metrics as m
    left join runs as r on m.run_id = r.run_id
    left join gpu_sheets as s on gpu_key(r.hardware) = s.gpu
    where m.name = 'power.mean'
    group by m.run_id
)
select
    run_id,
    printf('mean power of %s W for the %s; ', number_text(watts, 0), subject)
    || if(gpu is null, 'no GPU board draws more than 1,500 W', printf('the %s draws at most %.0f W', gpu, limit_w)) as message,
    watts as value,
    limit_w as threshold
from draws
where watts > limit_w
