-- purpose: limits of each GPU model from data/gpus.toml, as a table; of several boards of one model the highest, so that a bound holds for all
-- grain: gpu
-- inputs:
create or replace view gpu_sheets as
select
    sheet.gpu,
    sheet.bandwidth_gbs::double as bandwidth_gbs,
    sheet.fp32_tflops::double as fp32_tflops,
    -- The highest rate of any type, tensor cores' included.
    sheet.peak_tflops::double as peak_tflops,
    sheet.board_power_w::double as board_power_w
from (
    values
    ('H200', 4800.0, 67.0, 989.5, 700.0),
    ('H100', 3350.0, 67.0, 989.5, 700.0),
    ('A100', 2039.0, 19.5, 312.0, 400.0),
    ('A40', 696.0, 37.4, 149.7, 300.0),
    ('A30', 933.0, 10.3, 165.0, 165.0),
    ('A10', 600.0, 31.2, 125.0, 150.0),
    ('L40S', 864.0, 91.6, 362.05, 350.0),
    ('L4', 300.0, 30.3, 121.0, 72.0),
    ('RTX 4090', 1008.0, 82.6, 165.2, 450.0)
) as sheet (gpu, bandwidth_gbs, fp32_tflops, peak_tflops, board_power_w);
