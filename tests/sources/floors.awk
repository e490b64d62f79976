# Prints a line for each #include of a folder that is not below, each use of a library where it is
# not allowed, and each file that starts a chain of more than ten headers, each including the next.
# A file SYMBOLS has a line for each name of an object, `U NAME FILE.c` (uses) or `T NAME FILE.c`
# (defines): prints a line for each name that a folder uses and one above it defines, and for each
# ring, files that all call each other in a circle, of more than four files.
#
#     (cd TREE && awk -f floors.awk cmd/*.c lib/*/*.[ch] SYMBOLS)

BEGIN {
    # A folder may include folders with lower numbers.
    split("base format text math model pass lens write draw explain measure train bench live " \
        "attn cmd", rooms)
    split("1    2      3    3    4     5    6    7     8    9       9       9     9     10 " \
        "10   11", floors)
    for (i in rooms)
        floor[rooms[i]] = floors[i] # attn: the public headers of lib
    heap = "(malloc|calloc|realloc|free|strdup|strndup|asprintf|aligned_alloc|posix_memalign)"
    speech = "(printf|fprintf|puts|putchar|perror|exit|abort)"
    process = "(_exit|fork|vfork|posix_spawnp?)"
    LONGEST_CHAIN = 10
    LARGEST_RING = 4

    # Headers of macOS, of libraries and of processors.
    split("assert ctype errno float inttypes limits math setjmp signal spawn stdarg stdatomic " \
        "stdbool stddef stdint stdio stdlib string time dirent fcntl glob poll pthread " \
        "strings unistd sys/file sys/ioctl sys/mman sys/resource sys/stat sys/time sys/types " \
        "sys/wait cjson/cJSON oniguruma utf8proc check libxsmm libxsmm_generator libxsmm_cpuid " \
        "libxsmm_version arm_neon cpuid emmintrin immintrin xmmintrin", headers)
    for (i in headers)
        everywhere[headers[i] ".h"] = 1
    linux = "(memfd_create|getrandom|getauxval|sched_[a-z]*affinity|sched_getcpu|renameat2|syncfs" \
        "|prctl|close_range|mallopt|f?l?(get|set|list)xattr|memrchr|strverscmp|strchrnul|mempcpy" \
        "|rawmemchr|pipe2|dup3|accept4|fallocate|posix_fallocate|posix_fadvise|mremap|qsort_r" \
        "|secure_getenv|reallocarray|canonicalize_file_name|epoll_[a-z0-9]+|eventfd|syscall)"
}

function room_of(file,    parts) {
    parts = split(file, path, "/")
    return path[1] == "cmd" ? "cmd" : parts == 2 ? "attn" : path[2]
}

FILENAME ~ /symbols$/ {
    if ($1 == "U")
        users[$2] = users[$2] " " $3
    else
        home[$2] = $3
    next
}

FNR == 1 {
    in_comment = 0
    room = room_of(FILENAME)
}

function fault(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
}

# The line without comments and contents of strings.
function code(line,    at) {
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    if (in_comment) {
        at = index(line, "*/")
        if (!at)
            return ""
        line = substr(line, at + 2)
        in_comment = 0
    }
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    at = index(line, "/*")
    if (at) {
        in_comment = 1
        line = substr(line, 1, at - 1)
    }
    return line
}

function calls(line, names) {
    return line ~ ("(^|[^A-Za-z0-9_])" names " *[(]")
}

# An include names a folder of lib, "room/file.h", except for headers of cmd and public headers.
# cmd/option_rows includes headers of cmd as "../file.h".
function check_own(file,    target) {
    if (room == "cmd" && path[2] == "option_rows" && file ~ /^\.\.\/[^\/]*$/)
        target = "cmd"
    else if (file ~ /\//)
        target = substr(file, 1, index(file, "/") - 1)
    else
        target = file ~ /^attn(_host)?\.h$/ ? "attn" : room == "cmd" ? "cmd" : "?"
    if (!(target in floor))
        fault("\"" file "\" names no folder of lib")
    else if (target != room && floor[target] >= floor[room])
        fault("\"" file "\" is not below " room)
}

# The path of an included file of ours: in the folder of the file that includes it, or of lib.
function path_of(file,    folder) {
    if (file ~ /^attn(_host)?\.h$/)
        return "lib/" file
    if (file ~ /^\.\.\//)
        return "cmd/" substr(file, 4)
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    return (file ~ /\// ? "lib/" : folder) file
}

# The number of headers of the longest chain from a file; a cycle ends at its first repetition.
function chain(file,    i, length_here, longest) {
    if (file in chains)
        return chains[file]
    chains[file] = 0
    for (i = 1; i <= include_count[file]; i++) {
        length_here = 1 + chain(includes[file, i])
        if (length_here > longest)
            longest = length_here
    }
    chains[file] = longest + 0
    return chains[file]
}

function check_foreign(file) {
    if (FILENAME ~ /^lib\/live\/wasi\//)
        return # replaces headers that WASI lacks
    if (!own && !(file in everywhere) && FILENAME != "lib/base/platform.c")
        fault(file " is not everywhere: it belongs to lib/base/platform.c")
    if (file ~ /libxsmm/ && room != "math")
        fault(file " belongs to lib/math")
    if (file ~ /cJSON/ && FILENAME != "lib/format/json.c")
        fault(file " belongs to lib/format/json.c")
    if (file ~ /utf8proc/ && FILENAME != "lib/base/utf8.c")
        fault(file " belongs to lib/base/utf8.c")
    if (file ~ /onig/ && FILENAME != "lib/text/matcher.c")
        fault(file " belongs to lib/text/matcher.c")
    if (file ~ /^check\.h$/)
        fault(file " belongs to tests")
}

/^[ \t]*#[ \t]*include/ {
    file = $0
    sub(/^[^"<]*/, "", file)
    own = file ~ /^"/
    file = substr(file, 2)
    sub(/[">].*/, "", file)
    check_foreign(file)
    if (own) {
        check_own(file)
        includes[FILENAME, ++include_count[FILENAME]] = path_of(file)
    }
    next
}

{
    line = code($0)
    if (room != "base" && calls(line, heap))
        fault("the heap belongs to lib/base")
    if (room != "cmd" && calls(line, speech))
        fault("only cmd prints and exits")
    if (room != "cmd" && FILENAME != "lib/draw/drawing.c" && calls(line, process))
        fault("other processes belong to lib/draw/drawing.c")
    if (calls(line, linux) && FILENAME !~ /^lib\/(base\/platform|math\/kernel)\.c$/)
        fault("functions of Linux belong to lib/base/platform.c")
}

# Find the rings that a file is in, or reaches (Tarjan); prints those that are too large.
function find_rings(file,    i, count, called, to, ring, size) {
    order[file] = lowest[file] = ++visited
    stack[++depth] = file
    waits[file] = 1
    count = split(calls_of[file], called, " ")
    for (i = 1; i <= count; i++) {
        to = called[i]
        if (!(to in order))
            find_rings(to)
        if (waits[to] && lowest[to] < lowest[file])
            lowest[file] = lowest[to]
    }
    if (lowest[file] < order[file])
        return
    do {
        to = stack[depth--]
        waits[to] = 0
        ring = ring " " to
        size++
    } while (to != file)
    if (size > LARGEST_RING)
        printf "%s:1: expected rings of at most %d files, found %d:%s\n", file, LARGEST_RING,
            size, ring
}

END {
    for (file in include_count)
        if (file ~ /\.c$/ && chain(file) > LONGEST_CHAIN)
            printf "%s:1: expected a chain of at most %d headers, found %d\n", file,
                LONGEST_CHAIN, chain(file)
    for (name in home) {
        count = split(users[name], files, " ")
        for (i = 1; i <= count; i++) {
            if (floor[room_of(home[name])] > floor[room_of(files[i])])
                printf "%s:1: uses %s of %s, which is above\n", files[i], name, home[name]
            if (!((files[i], home[name]) in edge))
                calls_of[files[i]] = calls_of[files[i]] " " home[name]
            edge[files[i], home[name]] = 1
        }
    }
    for (file in calls_of)
        if (!(file in order))
            find_rings(file)
}
