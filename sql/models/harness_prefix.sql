-- purpose: what a harness puts in front of its own words in a failing tool's answer ("submit_kernel FAILED: kernel did not compile."); what follows it at once is the harness's own, anything later may quote the kernel
-- grain: scalar
-- inputs:
create or replace macro harness_prefix(answer) as regexp_extract(
    answer,
    '^(?:\w+ FAILED(?: \([^)\n]*\))?: )?(?:kernel did not compile\.\s+|unexpected error during tool execution\.\s+)?'
);
