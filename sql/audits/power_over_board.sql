-- purpose: a mean power that no board can draw: the counter's ticks are longer than the run
-- severity: warning
-- blocks: nothing
-- threshold: 1500 W, above the board limit of every GPU in data/gpus.toml (the highest published limit is 1,400 W)
select
    run_id,
    printf('mean power of %.0f W for the %s; no GPU board draws more than 1,500 W', max(value), max_by(subject, value)) as message,
    max(value) as value,
    1500 as threshold
from metrics
where name = 'power.mean' and value > 1500
group by run_id
