-- purpose: every kernel source ever sent, stored once
-- grain: kernel_sha256
create table kernels (
    kernel_sha256 varchar primary key,  -- sha256 of the source: LF line ends, trailing white space stripped
    source_code varchar not null,  -- whole
    language varchar,  -- cuda | triton | cpp | python
    n_lines bigint not null,  -- lines
    n_chars bigint not null  -- characters
);
