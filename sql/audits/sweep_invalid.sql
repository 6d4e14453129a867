-- purpose: the run failed as most of its sweep did, by something that is not its kernel's doing
-- severity: warning
-- blocks: nothing
-- threshold: the same class on 80 % of a model's runs in a sweep of ten and more, or on ten problems in a row
select
    o.run_id,
    printf(
        '%s on %d of %d runs of this sweep%s: the sweep is at fault, not this kernel',
        p.failure_class, p.n, p.n_runs, if(p.longest_streak >= 10, printf(', %d problems in a row', p.longest_streak), '')
    ) as message,
    p.share as value,
    0.8 as threshold
from sweep_patterns as p
inner join runs as r
    on
        p.suite = r.suite
        and p.sweep is not distinct from r.sweep
        and p.variant = variant_key(r.variant)
        and p.model = coalesce(r.model, r.model_raw, '(unknown)')
inner join run_outcomes as o on r.run_id = o.run_id and p.failure_class = o.failure_class
where p.invalid
