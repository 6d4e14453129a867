-- purpose: words in submitted kernels that hint at known ways to deceive a harness; a hint, never a verdict
-- grain: kernel_sha256, mark
-- inputs: runs, kernels
-- stored: yes
-- changes: kernel_sha256
-- parameters: none. Each mark tries a plain word first: a regular expression over every kernel would be slow.
create or replace view kernel_marks as
with submitted as (
    select k.kernel_sha256, k.source_code as code
    from kernels as k
    semi join runs as r on k.kernel_sha256 = r.submitted_kernel_sha256
),
found as (
    select
        kernel_sha256,
        unnest([
            {
                'mark': 'streams',
                'words': if(
                    contains(code, 'tream'),
                    regexp_extract(code, '(?:torch\.cuda\.[Ss]tream\(|cudaStreamCreate\w*|cudaStreamNonBlocking|getStreamFromPool)'),
                    ''
                )
            },
            {
                'mark': 'pointer_cache',
                'words': if(
                    contains(code, 'data_ptr') or contains(code, '_version') or contains(code, 'id('),
                    regexp_extract(
                        code,
                        '(?:\w*(?:cache|key|memo)\w*\s*=\s*[^=\n][^\n]*(?:data_ptr\(\)|\bid\(|\._version)[^\n]*|\[[^\]\n]*data_ptr\(\)[^\]\n]*\]\s*=[^=][^\n]*|(?:unordered_)?map<\s*(?:const\s+)?(?:void|float)\s*\*)'
                    ),
                    ''
                )
            },
            {
                'mark': 'patched_timer',
                'words': if(
                    contains(code, 'torch.cuda') or contains(code, 'time.') or contains(code, 'do_bench'),
                    regexp_extract(
                        code,
                        '(?:\b(?:torch\.cuda\.(?:Event(?:\.\w+)?|synchronize)|time\.(?:time|perf_counter|monotonic)|triton\.testing\.do_bench)\s*=\s*[^=\s][^\n]*|setattr\(\s*(?:torch\.cuda|time)\b[^\n]*)'
                    ),
                    ''
                )
            },
            {
                'mark': 'fallback',
                'words': if(
                    contains(code, 'except'),
                    regexp_extract(
                        code,
                        '(?:except\b[^\n]*:[^\n]*\n(?:[^\n]*\n){0,3}?\s*(?:return|\w+\s*=)\s[^\n]*(?:torch\.|F\.|super\(\)|(?:ref|fallback|eager)\w*\()[^\n]*)'
                    ),
                    ''
                )
            },
            {
                'mark': 'precision_flags',
                'words': if(
                    contains(code, 'tf32') or contains(code, 'matmul_precision') or contains(code, 'fast_math')
                    or contains(code, 'reduced_precision'),
                    regexp_extract(
                        code,
                        '(?:allow_tf32\s*=\s*True|set_float32_matmul_precision\([^\n)]*\)|allow_\w*reduced_precision\w*\s*=\s*True|-?-?use_fast_math)'
                    ),
                    ''
                )
            },
            {
                'mark': 'looks_around',
                'words': if(
                    contains(code, 'inspect') or contains(code, '_getframe') or contains(code, 'get_objects')
                    or contains(code, '_exit') or contains(code, '/proc/') or contains(code, 'sys.modules'),
                    regexp_extract(
                        code,
                        '(?:inspect\.(?:stack|currentframe)\(|sys\._getframe\(|gc\.get_objects\(|os\._exit\(|/proc/(?:self|\d)|sys\.modules\[)'
                    ),
                    ''
                )
            },
            {
                'mark': 'no_custom_kernel',
                'words': if(
                    contains(code, 'class ModelNew')
                    and not regexp_matches(
                        code,
                        '(?i)(?:__global__|triton|load_inline|cpp_extension|\bcute\b|cutlass|cutile|tilelang|thunderkittens|numba|cupy|pallas|RawKernel|torch\.library|torch\.ops\.|nvrtc|\bhip\b|\bptx\b)'
                    ),
                    'class ModelNew',
                    ''
                )
            }
        ], recursive := true)
    from submitted
)
select kernel_sha256, mark, words
from found
where words <> '';
