-- purpose: the run failed as most of its sweep did, by something that is not its kernel's doing
-- severity: warning
-- blocks: nothing
-- threshold: the same class on 80 % of a sweep, or of a model's runs in it, of ten and more, or on ten problems in a row
select
    unnest(run_ids) as run_id,
    printf(
        '%s on %s: the sweep is at fault, not this kernel',
        failure_class,
        case
            when share >= 0.8 and n_runs >= 10 then printf('%d of this model''s %d runs in the sweep', n, n_runs)
            when n_of_sweep is not null then printf('%d of the sweep''s %d runs', n_of_sweep, n_runs_of_sweep)
            else printf('%d problems in a row', longest_streak)
        end
    ) as message,
    share as value,
    0.8 as threshold
from sweep_patterns
where invalid
