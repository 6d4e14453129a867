-- purpose: what a tool is for, by the names that harnesses give it: the one place that knows them. `submit` hands in and judges, `check` judges, `compile` builds, `inspect` looks at the source; any other tool says nothing of how far a run is
-- grain: scalar
-- inputs:
create or replace macro tool_role(tool_name) as case
    when tool_name in ('submit_kernel', 'submit', 'submit_solution') then 'submit'
    when tool_name in ('run_correctness', 'evaluate') then 'check'
    when tool_name = 'compile_kernel' then 'compile'
    when tool_name = 'static_check' then 'inspect'
end;
