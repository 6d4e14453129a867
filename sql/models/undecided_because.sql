-- purpose: why a result can decide nothing whatever else was measured, NULL where it can
-- grain: scalar
-- inputs:
create or replace macro undecided_because(verdict_text, on_device, on_gpu, walls_ok, ratio, ratio_lo, ratio_hi) as case
    -- A CPU verifies no GPU claim.
    when not coalesce(starts_with(on_device, 'cuda'), false) or on_gpu is null then 'not measured on a GPU'
    -- Without its sandbox a candidate could have written its own result.
    when not coalesce(walls_ok, false) then 'measured without the sandbox'
    -- Such a speedup was not measured by any protocol; what was found wrong is wrong however it was timed.
    when
        ratio is not null
        and not coalesce(ratio between ratio_lo and ratio_hi, false)
        and split_part(verdict_text, ':', 1) not in ('INCORRECT', 'HACK', 'FLAKY', 'IMPLAUSIBLE')
        then 'timed without an interval'
end;
