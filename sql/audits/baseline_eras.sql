-- purpose: two baselines of one GPU and problem that contradict each other: problem sizes changed between them
-- severity: info
-- blocks: nothing
-- threshold: a factor of 2 between two timings under one name; no speedup is computed from such a pair
-- needs: baselines
select
    r.run_id,
    printf('two %s baselines of this problem on %s: %.4g us and %.4g us', b.baseline, b.gpu, b.least, b.most) as message,
    b.most / b.least as value,
    2 as threshold
from runs as r
inner join (
    select
        suite, level, problem_name, baseline, gpu_key(hardware) as gpu, min(mean_us) as least, max(mean_us) as most
    from baselines
    where mean_us > 0
    group by all
    having max(mean_us) > 2 * min(mean_us)
) as b on r.suite = b.suite and r.level = b.level and r.problem_name = b.problem_name and gpu_key(r.hardware) = b.gpu
where r.correct and r.runtime_us is not null and r.speedup is null
