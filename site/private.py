r"""Kinds of things that a published page must not say, each as an expression.

Every kind has literals of which one must occur before its expression is tried: most text holds none of them, and
a search for a literal runs at memory speed. A text may be plain, or a string of JSON (once or twice escaped), or a
part of a URL: separators and quotes are met in those forms too, and a word may begin right behind an escape (`\n`).
Repetitions are bounded where a search may begin at every character: a line of ten megabytes must not cost their square.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of thing to hide.

    Attributes:
        name: What the report calls it.
        needles: Literals of which one must occur (compared in lower case).
        pattern: What is hidden: the group `secret` where there is one, else the whole match.
        put: What stands in its place.
        probe: In place of a literal that would occur everywhere: an expression (RE2 and Python alike).
    """

    name: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    put: str
    probe: str = ""


def _kind(name: str, needles: str, pattern: str, put: str, *, flags: int = 0, probe: str = "") -> Kind:
    return Kind(name, tuple(needles.split()), re.compile(pattern, flags), put, probe)


_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
"""Before a word: no letter or digit, or an escape of JSON, whose letter is not the word's."""
_Q = r"(?:\\{0,15}[\"'])"
_SEP = r"(?:\\{0,16}/|\\{1,16}|%2f)"
# A folder's name ends at a separator, a space or a bracket; an apostrophe within a name does not end it.
_CHAR = r"(?:(?!%2f)[^\s/\\:;,'\"`<>|()\[\]{}=&?*$]|'(?=[^\W\d_]))"
# Names with spaces are told by the separator behind them, or by capitals and the quote behind them.
_SPACED = r"(?:(?:\\? [\w.'-]+){1,3}(?=[/\\])|(?:\\? [A-Z][\w.'-]*){1,3}(?=\\{0,15}[\"'`]))?"
_SEG = rf"{_CHAR}+{_SPACED}"
_ROOTS = (
    r"(?:(?:export|usr|var|data|nfs|gpfs|lustre|workspace|mnt|media|net|private|volumes|system/volumes/data|srv|afs|work)"
    rf"{_SEP})?(?:home\d*|homes|users|u|[pg]?scratch)"
)
_END = r"(?![A-Za-z0-9])"
# Common top-level domains only: `x@self.weight` and `h @ w.to(…)` are matrix products.
_TLD = (
    r"(?:com|org|net|edu|gov|mil|io|ai|dev|app|co|info|biz|cloud|tech|me|xyz|academy|science"
    r"|example|swiss|email|de|uk|fr|ch|at|nl|be|se|no|dk|fi|pl|cz|es|pt|it|ie|gr|hu|ro|ru|ua|tr|il|sg|hk|tw|cn|jp|kr|in|au|nz|ca|br|mx|eu|us)"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_PRIVATE_IP = (
    rf"(?:10\.{_OCTET}|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))"
    rf"\.{_OCTET}\.{_OCTET}"
)
# Four numbers behind such a word are a version's.
_NO_VERSION = "".join(
    rf"(?<!{word}{gap})"
    for word in ("cudnn", "cuda", "ersion", "nvcc", "driver", "release", "cublas", "nccl")
    for gap in (" ", ": ", "=", "-", " v", " = ")
)
_TOKENS = (
    r"sk-(?:ant-|proj-|or-v1-|svcacct-|admin-|lf-)?(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{16,}",
    r"(?:[srp]k_(?:live|test)|whsec|rk)_[A-Za-z0-9]{10,}",
    r"sk_[a-f0-9]{32,}",
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|ptt|dt|rt|ft|soat|imt|agent|cbt)-[A-Za-z0-9_-]{16,}|gl(?:sa|c)_[A-Za-z0-9_=]{20,}",
    r"hf_(?=[A-Za-z]{0,80}\d|[a-z]{0,80}[A-Z])[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}",
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{12,}",
    r"xox[abceoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dckr_[op]at_[A-Za-z0-9_-]{20,}|do[opr]_v1_[a-f0-9]{32,}",
    r"r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{30,}|xai-[A-Za-z0-9]{30,}|csk-[a-z0-9]{30,}",
    r"pplx-[A-Za-z0-9]{30,}|tgp_v1_[A-Za-z0-9_-]{20,}|fw_[A-Za-z0-9]{20,}|rpa_[A-Za-z0-9]{30,}|tvly-[A-Za-z0-9-]{20,}",
    r"dapi[a-f0-9]{32}|lsv2_[a-z]{2}_[a-z0-9_]{30,}|wandb_v1_[A-Za-z0-9_]{20,}|hvs\.[A-Za-z0-9_-]{20,}",
    r"SG\.[A-Za-z0-9_-]{16,200}\.[A-Za-z0-9_-]{16,}|key-[a-f0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|figd_[A-Za-z0-9_-]{20,}|sbp_[a-f0-9]{30,}|ATATT3[A-Za-z0-9_=-]{20,}",
    r"PMAK-[A-Za-z0-9-]{20,}|NRAK-[A-Z0-9]{20,}|dp\.pt\.[A-Za-z0-9]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    r"\d{8,10}:AA[A-Za-z0-9_-]{30,}|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"sess-[A-Za-z0-9]{30,}|AQ\.Ab8[A-Za-z0-9_-]{20,}|pk-lf-[a-f0-9-]{30,}|sntry[su]_[A-Za-z0-9_=-]{30,}|CFPAT-[A-Za-z0-9_-]{20,}",
    r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}|ops_eyJ[A-Za-z0-9_-]{30,}|ph[cx]_[A-Za-z0-9]{30,}|ABSK[A-Za-z0-9+/]{60,}={0,2}",
    # Its first two parts say whose it is, also where a text was cut off before the third.
    r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
)
_SETTING = (
    r"(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|secret(?:[_-]?(?:key|access[_-]?key|token))?|auth[_-]?token|[_-]token|bearer[_-]?token|webhook[_-]?url"
    r"|(?<![A-Za-z0-9])token(?!s))"
)
_PASSWORD = r"(?:password|passwd|passphrase|(?<![A-Za-z0-9])pwd)"  # noqa: S105  the name of one, not one
_IS = rf"{_Q}?\s{{0,3}}(?:=|:|=>)\s{{0,3}}"
# Words a machine's name is made of: `alice@laptop` is somebody, `query@key` a product of matrices.
_MACHINE = (
    r"[\w.-]*(?:laptop|desktop|macbook|imac|workstation|server|localhost|login|gpu|node|host|box|cluster|ubuntu|debian"
    r"|fedora|thinkpad|[a-z]-?pc|dgx|hgx|h[12]00|a100|rtx|ec2|instance|compute|worker|head|nuc|pod)[\w.-]*"
)
_NAME = r"[A-Za-z_][\w.+-]{0,31}"

KINDS: tuple[Kind, ...] = (
    _kind(
        "private key",
        "-----begin",
        r"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|\Z)",
        "[private key]",
    ),
    _kind("password in a URL", "://", r"(?<=://)[^\s/@:'\"<>]*:[^\s/'\"<>]+(?=@)", "[credentials]"),
    _kind(
        "token",
        "sk- sk_ pk_ rk_ whsec_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glft- glsoat- glimt- "
        "glagent- glcbt- glsa_ glc_ hf_ api_org_ akia asia agpa aida aroa anpa xox xapp- aiza ya29. gocspx- npm_ pypi- "
        "dckr_ do_v1_ dop_v1_ doo_v1_ dor_v1_ r8_ gsk_ nvapi- xai- csk- pplx- tgp_ fw_ rpa_ tvly- dapi lsv2_ wandb_v1_ "
        "hvs. sg. key- shpat_ shpca_ shppa_ shpss_ lin_api_ ntn_ figd_ sbp_ atatt3 pmak- nrak- dp.pt. age-secret-key- "
        ":aa eyj sess- aq.ab8 pk-lf- sntrys_ sntryu_ cfpat- sq0atp- sq0csp- ops_eyj phc_ phx_ absk",
        rf"{_START}(?:{'|'.join(_TOKENS)}){_END}",
        "[token]",
        probe=r"[mno][a-z0-9_-]{23,25}\.[a-z0-9_-]{6}\.",
    ),
    _kind(
        "token",
        "hooks.slack.com discord",
        r"(?<=hooks\.slack\.com/services/)[\w/]+|(?<=/api/webhooks/)[\w/-]+",
        "[token]",
    ),
    _kind(
        "token",
        "cookie",
        rf"cookie{_IS}{_Q}?[\w.-]{{1,60}}=(?P<secret>[A-Za-z0-9%._~+/=-]{{12,}})",
        "[token]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "signed URL",
        "sig= signature= token= credential=",
        r"(?:[?&;](?:sig|signature)|x-(?:amz|goog)-(?:signature|credential|security-token))=(?P<secret>[A-Za-z0-9%._~+/=-]{12,})",
        "[secret]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "secret in a setting",
        "key",
        rf"{_Q}username{_IS}{_Q}[^\"'\s]{{1,80}}{_Q}\s?,\s{{0,3}}{_Q}key{_IS}{_Q}(?P<secret>[a-f0-9]{{32}})"
        rf"|api[_-]?key\s{{1,3}}{_Q}?(?P<spaced>(?=[A-Za-z_-]{{0,80}}\d)[A-Za-z0-9_-]{{20,}})",
        "[secret]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "bearer token",
        "bearer basic token",
        rf"{_START}(?:bearer|basic|authorization{_IS}{_Q}?token)\s+(?P<secret>(?=[A-Za-z._~+/-]{{0,80}}\d)[A-Za-z0-9._~+/=-]{{12,}})",
        "[token]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "secret in a setting",
        "key token secret passw passphrase pwd webhook",
        rf"(?:{_SETTING}{_IS}{_Q}?|(?:(?<![\w-])|(?<=\\[nrtbf]))--?(?:[a-z]{{1,20}}-)?(?:{_SETTING}|key)[ =]{_Q}?)"
        r"(?P<secret>(?=[A-Za-z_\-./+=]{0,80}\d)(?=[0-9_\-./+=]{0,80}[A-Za-z])[A-Za-z0-9_\-./+=~]{12,})",
        "[secret]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "secret in a setting",
        "passw passphrase pwd",
        rf"{_PASSWORD}(?:{_IS}|\s)(?:(?P<open>{_Q})(?P<secret>(?!\[secret\])[^\"'\n]{{3,}}?)(?=\\{{0,15}}[\"'])"
        r"|(?P<bare>(?!\[secret\])(?=[^\s\"']{0,80}[\d!@#%^&*])[^\s\"'()\[\]{},;]{5,}))",
        "[secret]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "e-mail address",
        "@ %40",
        rf"{_START}(?!git@)[A-Za-z0-9._%+-]{{0,64}}[A-Za-z0-9_+-](?:@|%40)(?:[A-Za-z0-9-]+\.)+{_TLD}(?![A-Za-z0-9(_])"
        # In the brackets of a header, or behind the word, any domain is one.
        r"|(?<=<)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]+\.)+[a-z]{2,24}(?=>)"
        rf"|e-?mail{_IS}{_Q}?(?P<secret>[A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9.-]+)",
        "[e-mail]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "home folder",
        "home users scratch /u/",
        rf"(?:(?<![a-z])[a-z]:|(?<=\\[nrt])[a-z]:|/[a-z](?=/users/))?{_SEP}{_ROOTS}{_SEP}(?:(?:users|sd){_SEP})?(?:[a-z]{_SEP})?{_SEG}"
        r"|(?:(?<![\w.-])|(?<=\\[nrtbf]))-(?:home|users)-[a-z0-9_.]+(?=-|\b)",
        "[home]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "home folder",
        "~",
        rf"(?:(?<![\w/~)\]])|(?<=\\[nrt]))~[a-z_][a-z0-9_.-]{{1,31}}(?={_SEP}[\w.])"
        r"|(?<=cd )~[a-z_][\w.-]+|(?<=ls )~[a-z_][\w.-]+|(?<= in )~[a-z_][\w.-]+(?![\w(])",
        "[home]",
        probe=r"~[a-z_]",
    ),
    _kind(
        "private mount",
        "/data /nobackup /ceph /dbfs /content/drive /var/folders "
        "/root /mnt /lustre /gpfs /nfs /media /volumes /net/ /afs/ /work /proj /storage /beegfs /fsx %2froot %2fmnt",
        rf"(?:(?<![\w.-])|(?<=\\[nrtbf])){_SEP}(?:root(?![\w.-])|(?:mnt|media|volumes|lustre|gpfs|nfs|afs|net|work\d*"
        rf"|projects?|proj|storage|beegfs|fsx|data|nobackup|ceph|dbfs{_SEP}filestore|content{_SEP}drive{_SEP}mydrive"
        rf"|(?:private{_SEP})?var{_SEP}folders{_SEP}\w+){_SEP}{_CHAR}+)",
        "[mount]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "network share",
        "",
        "|".join(
            r"(?:(?<![\\\w:])|(?<=[^\\]\\[nrt])|(?<=\\\\[nrt]))"
            rf"\\{{{2 * n}}}(?!\\)[a-z0-9][\w.-]+\\{{{n}}}(?!\\)[a-z0-9$][\w$.-]+"
            for n in (1, 2, 4, 8, 16)  # as it is, and as strings of JSON have it, which hold each other
        )
        + r"|(?<![\w:])(?:smb|nfs|afp|cifs)://[^\s\"'<>]+",
        "[share]",
        flags=re.IGNORECASE,
        probe=r"\\\\[a-z0-9]|(?:smb|nfs|afp|cifs)://",
    ),
    _kind(
        "host name",
        ".internal .local .cluster .lan .corp .intra .home.arpa hostname nodename nodelist ip-",
        rf"{_START}(?<![.@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:internal|local|cluster|lan|corp|intra|home\.arpa)(?![\w(-])"
        r"|(?<![A-Za-z])ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b"
        rf"|{_START}(?:hostname|nodename|slurm_\w*nodelist){_IS}{_Q}?(?P<secret>[A-Za-z0-9][A-Za-z0-9.\[\],-]{{2,}})",
        "[host]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "private address",
        "10. 192.168. 172. 169.254. 100.",
        rf"(?<![\w.]){_NO_VERSION}{_PRIVATE_IP}(?![\w]|\.\d)|(?<=\\[nrt]){_PRIVATE_IP}(?![\w]|\.\d)",
        "[address]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "private address",
        "",
        r"(?:(?<![\w:])|(?<=\\[nrt]))(?:f[cd][0-9a-f]{2}|fe80)(?=[0-9a-f:]*::|(?::[0-9a-f]{1,4}){7})(?::[0-9a-f]{0,4}){2,7}(?:%\w+)?(?![\w:])"
        r"|(?<![\w:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:])",
        "[address]",
        flags=re.IGNORECASE,
        probe=r"(?:f[cd][0-9a-f][0-9a-f]|fe80):[0-9a-f:]|[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f]",
    ),
    _kind(
        "device id",
        "gpu- mig-",
        r"\b(?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "[device]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "user name",
        "user logname login uid= rwx rw- r-x torchinductor_ pytest-of-",
        rf"{_START}(?:(?:user|username|user_name|logname){_Q}?=|(?:username|user_name|logname){_Q}?\s?:\s?){_Q}?"
        r"(?P<secret>[A-Za-z_][\w.-]{2,})|(?:torchinductor_|pytest-of-)(?P<folder>(?!root\b)[A-Za-z_][\w.-]*)|uid=\d+\((?P<uid>[\w.-]+)\)"
        r"|(?:(?<!\w)|(?<=\\[nrt]))[dlcbps-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][.+@]?\s+\d+\s+(?P<owner>(?!root\s)[A-Za-z_][\w.-]*)",
        "[user]",
        flags=re.IGNORECASE,
    ),
    _kind(
        "user name",
        "@",
        rf"{_START}(?<![.@])(?P<prompt>{_NAME}@[a-z0-9][\w.-]{{0,62}})(?=:[~/][^\n]{{0,200}}[$#%>]|\s+[~/][^\n]{{0,200}}[$#%>]|\]?[$#](?:\s|$))"
        rf"|(?<=\[)(?P<bracket>{_NAME}@[a-z0-9][\w.-]*)(?=\s[^\]\n]{{0,80}}\][$#])"
        rf"|(?:(?:ssh|scp|rsync|sftp)\s[^\n@]{{0,120}}?|ssh://)(?P<secret>{_NAME}@[a-z0-9][\w.-]*)"
        rf"|AAAA[\w+/=]{{20,}}\s(?P<comment>{_NAME}@[\w.-]+)"
        rf"|{_START}(?<![.@])(?P<machine>{_NAME}@{_MACHINE})(?![\w(\[@-]|\.\w)",
        "[user]",
        flags=re.IGNORECASE,
    ),
)
"""Kinds in the order in which they are hidden."""
