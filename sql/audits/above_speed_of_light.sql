-- purpose: faster than the roofline that its own source computed for it
-- severity: error
-- blocks: speed
-- doubts: sol.score, roofline.fraction
-- threshold: 1.0, by definition of the share; 5 % is left for clocks above the data sheet's
-- needs: metrics(sol.score, roofline.fraction)
select
    run_id,
    printf('%s of %s: below the memory or compute floor that the source itself names', max_by(name, (value, name)), number_text(max(value), 2)) as message,
    max(value) as value,
    1.0 as threshold
from metrics
where name in ('sol.score', 'roofline.fraction') and subject <> 'reference' and source <> 'heuristic' and turn is null and value > 1.05
group by run_id
