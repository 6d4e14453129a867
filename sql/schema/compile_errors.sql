-- purpose: diagnostics of compilers, linkers and build tools, and Python errors while the candidate was built or imported
-- grain: run_id, turn, seq, ordinal
create table compile_errors (
    run_id varchar not null,  -- the run
    turn bigint,  -- turn; NULL for the final result
    seq bigint,  -- tool call within the turn
    ordinal bigint not null,  -- order within the output, from 0
    toolchain varchar,  -- nvcc | gcc | ld | ptxas | ninja | triton | python
    severity varchar,  -- fatal error | error | warning | note
    file varchar,  -- base name
    line bigint,  -- from 1
    col bigint,  -- from 1
    code varchar,  -- the tool's own code: E0020, -Wunused …, or the exception's name
    message varchar,  -- one line
    class varchar  -- failure class this diagnostic alone would give
);
