-- purpose: the runtime scatters by more than itself: the mean says little
-- severity: warning
-- blocks: nothing
-- doubts: runtime.std, runtime.mean
-- threshold: 1.0: a standard deviation above the mean
-- needs: metrics(runtime.std), metrics(runtime.mean)
select
    s.run_id,
    printf('standard deviation %.3g us over a mean of %.3g us (%s)', s.value, m.value, s.subject) as message,
    s.value / m.value as value,
    1.0 as threshold
from metrics as s
inner join metrics as m
    on
        s.run_id = m.run_id and s.subject = m.subject and s.source = m.source
        and s.turn is not distinct from m.turn and s.seq is not distinct from m.seq
where s.name = 'runtime.std' and m.name = 'runtime.mean' and s.turn is null and m.value > 0 and s.value > m.value
