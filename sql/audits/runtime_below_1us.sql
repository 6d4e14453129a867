-- purpose: a runtime below a microsecond: shorter than any kernel launch
-- severity: error
-- blocks: speed
-- doubts: runtime
-- threshold: 1 us: an empty kernel takes 2 us and more on any current GPU
select
    run_id,
    printf('runtime of %.3g us, shorter than launching an empty kernel', runtime_us) as message,
    runtime_us as value,
    1.0 as threshold
from runs
where runtime_us < 1
