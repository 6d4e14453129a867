-- purpose: the run failed as most of its sweep did, by something that is not its kernel's doing
-- severity: warning
-- blocks: nothing
-- threshold: the same class on 80 % of a model's runs in a sweep of ten and more, or on ten problems in a row
select
    unnest(run_ids) as run_id,
    printf(
        '%s on %s: the sweep is at fault, not this kernel',
        failure_class,
        if(
            share >= 0.8,
            printf('%d of this model''s %d runs in the sweep', n, n_runs),
            printf('%d problems in a row', longest_streak)
        )
    ) as message,
    share as value,
    0.8 as threshold
from sweep_patterns
where invalid
