# `make` builds build/attn-cli and the library: build/libattn.a, and on Linux build/libattn.so.
# `make help` lists the other targets.
#
# Variables: CC, CFLAGS (replaces the default), CPPFLAGS, LDFLAGS, PREFIX, LIBDIR (default: lib,
# below PREFIX), DESTDIR, BUILD (folder of all output), V=1 (show commands), DEPS=0 (install no
# packages), WERROR= (warnings of newer compilers are not errors).

BUILD  = build
PREFIX = /usr/local
LIBDIR = lib

# Never -ffast-math: -inf is data, and the order of sums must not change.
CFLAGS ?= -O3 -g -fopenmp-simd -fno-math-errno -fno-trapping-math
# The last two are for clang: tables omit fields, and a format may be empty.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wconversion -Wno-sign-conversion -Wvla -Wno-unknown-pragmas \
	-Wno-missing-field-initializers -Wno-format-zero-length $(WERROR)
WERROR = -Werror
# No contraction: only fmaf fuses a product and a sum, so that all compilers give the same bits.
COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -ffp-contract=off $(WARNINGS) $(CPPFLAGS) $(CFLAGS) -Ilib

# Objects do not depend on the folder: paths are relative to the repository, where debuggers find
# them. Not for sanitizers and gcov, which need full paths.
ANYWHERE = $(if $(INSTRUMENTS),,-ffile-prefix-map='$(CURDIR)'=. -ffile-prefix-map=$(BUILD)/=build/)

# Link a static archive if it exists, so that the program needs no package; else the shared library.
library = $(or $(call archive,$(1)),-l$(1))
archive = $(filter %/lib$(1).a,$(shell $(CC) -print-file-name=lib$(1).a))
LIBS = $(if $(GENERATES),$(call library,xsmmgen)) $(call library,utf8proc) $(call library,cjson) \
	$(call library,onig) -lpthread -ldl -lm
# libxsmm generates machine code for x86-64; elsewhere lib/math has the kernels.
GENERATES = $(if $(filter x86_64%,$(machine)),$(LINUX))
LINUX = $(findstring linux,$(machine))
machine := $(shell $(CC) -dumpmachine 2>/dev/null)
# One set of objects for the program and both libraries; names are hidden by default.
SHAREABLE = $(if $(LINUX),-fPIC -fvisibility=hidden)
# Each version 0.N has its own soname, because interfaces may differ between versions. No shared
# library on macOS, which names and loads them differently, or with sanitizers or gcov.
VERSION := $(shell sed -n 's/^.define ATTN_VERSION "\(.*\)"/\1/p' cmd/command.h)
SONAME := libattn.so.$(basename $(VERSION))
SHARED = $(if $(LINUX),$(if $(INSTRUMENTS),,$(BUILD)/libattn.so))
INSTRUMENTS = $(findstring -fsanitize,$(CFLAGS))$(findstring --coverage,$(CFLAGS))
TEST_LIBS = -lcheck $(call archive,subunit) $(call archive,rt)

# Bundled models, the default first: `make models` writes EXAMPLES; the others are trained.
EXAMPLES = life life-causal life-4-heads life-grouped life-cross journey journey-causal \
	journey-seven nlp
BUNDLED = tiny $(EXAMPLES) translate translate-zh cloze roles recall
DICTIONARIES = demo
MODEL_FILES := $(wildcard models/*/*.json models/*/*.safetensors models/*/merges.txt)

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJECTS  := $(call objects,$(sort $(wildcard lib/*.c lib/*/*.c lib/*/*/*.c)) \
	lib/model/bundled_models.c lib/draw/page_template.c)
CMD_OBJECTS  := $(call objects,$(sort $(wildcard cmd/*.c cmd/*/*.c)) cmd/completion_scripts.c \
	cmd/guide_headings.c cmd/lesson_texts.c)
HOSTED_OBJECTS := $(LIB_OBJECTS) $(filter-out $(BUILD)/cmd/main.o,$(CMD_OBJECTS))
UNIT_SUITES = *
UNIT_OBJECTS := $(call objects,tests/unit/unit_main.c $(wildcard tests/unit/rigs/*.c \
	$(UNIT_SUITES:%=tests/unit/%_test.c) $(UNIT_SUITES:%=tests/unit/*/%_test.c)))
FUZZ_OBJECTS := $(call objects,$(wildcard tests/harm/fuzz/*.c))
FAULT_OBJECTS := $(call objects,$(wildcard tests/harm/faults/*.c))
ORACLE_OBJECTS := $(call objects,$(wildcard tests/references/oracle/*.c))
REFUSALS_OBJECTS := $(call objects,$(wildcard tests/refusals/*.c))
FLIPS_OBJECTS := $(call objects,$(wildcard tests/harm/flips/*.c))
FOOTPRINT_OBJECTS := $(call objects,$(wildcard tests/run/footprint/*.c))
C_FILES := $(wildcard cmd/*.[ch] cmd/*/*.[ch] lib/*.[ch] lib/*/*.[ch] lib/*/*/*.[ch] \
	models/*.c tests/*/*.[ch] tests/*/*/*.[ch] data/packages/*.c)

# As many jobs as processors, unless -j is given. With several goals: one job, because goals such as
# clean and all must not run at the same time.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

ifneq ($(words $(BUILD)),1)
$(error BUILD: expected a path without a blank, found '$(BUILD)')
endif

SAY = @$(if $(V),set -x;,printf '  %-8s %s\n' $(1) '$(2)';)

all: $(BUILD)/attn-cli $(BUILD)/libattn.a $(SHARED) ## build the program and the library

run: all ## install missing packages, build and run an example
	@sh data/first_look.sh $(BUILD)/attn-cli

# --- building ------------------------------------------------------------------------------------

# Copy the linked file, as `make install` does: the kernel caches a file that a linker wrote in
# small pages, from which a short run takes 10 % longer. Rename the copy: a program that is being
# written cannot be started.
$(BUILD)/attn-cli: $(CMD_OBJECTS) $(BUILD)/internal.a
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@.linked && \
		cp $@.linked $@.copy && mv -f $@.copy $@ && rm $@.linked

# D: no times and users in the archive.
ARCHIVE = rcs$(if $(LINUX),D)

# Includes the C library. Debian has no static archives of some libraries: archives.sh builds them.
static: $(BUILD)/attn-cli-static ## one file for any Linux of this architecture; installs dpkg-dev
$(BUILD)/attn-cli-static: $(CMD_OBJECTS) $(BUILD)/internal.a | $(BUILD)/archives
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) -s -static $^ \
		$(BUNDLED_LIBRARIES) -o $@

$(BUILD)/archives: | $(BUILD)/dependencies-of-static
	$(call SAY,fetch,$@) $(FETCH) $@

FETCH = CC='$(CC)' AR='$(AR)' CFLAGS='-O3 -fPIC' sh data/packages/archives.sh

# The program and the shared library for a wheel need only the C library. Where archives.sh gets no
# sources, they need the system's libraries, and the wheel is for this system.
wheel: wheel-files ## build a wheel for pip; installs what it needs
	@python3 data/packages/wheel.py $(BUILD)

wheel-files: $(BUILD)/wheel/attn-cli $(BUILD)/wheel/$(SONAME)

$(BUILD)/wheel/attn-cli: $(CMD_OBJECTS) $(BUILD)/internal.a $(BUILD)/wheel/versions
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) -s $(filter %.o %.a,$^) \
		$(BUNDLED_LIBRARIES) -o $@

$(BUILD)/wheel/$(SONAME): $(HOSTED_OBJECTS) lib/attn.map $(BUILD)/wheel/versions
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) -s -shared -Wl,-soname,$(SONAME) \
		-Wl,-z,defs,--version-script=lib/attn.map,--exclude-libs,ALL $(HOSTED_OBJECTS) \
		$(BUNDLED_LIBRARIES) -o $@

BUNDLED_LIBRARIES = -L$(BUILD)/archives/lib $(LIBRARIES)

PACKS = $(filter wheel release,$(MAKECMDGOALS))

# The names and versions of the libraries; a change links again. `make wheel` tries to get libraries
# that were not to be had before, for example by pip, which installs no packages.
$(BUILD)/wheel/versions: $(or $(wildcard $(BUILD)/archives),$(if $(PACKS),FORCE)) \
		| $(if $(PACKS),$(BUILD)/dependencies-of-wheel,$(BUILD)/dependencies) \
		$(if $(filter static release,$(MAKECMDGOALS)),$(BUILD)/archives)
	@mkdir -p $(@D)
	@[ -d $(BUILD)/archives ] || $(FETCH) $(BUILD)/archives || \
		echo 'the wheel will use libraries of this system, and is for this system only' >&2
	@{ cat $(BUILD)/archives/versions 2>/dev/null; $(if $(GENERATES),printf '%s\n' \
		'#include <libxsmm_generator.h>' 'libxsmm LIBXSMM_CONFIG_VERSION' | \
		$(CC) $(CPPFLAGS) -E -P - | sed -n 's/"//g; /^libxsmm /p'; ) } >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# The whole library with all names, for the program and the tests.
$(BUILD)/internal.a: $(LIB_OBJECTS)
	$(call SAY,archive,$@) rm -f $@; $(AR) $(ARCHIVE) $@ $^

# For other programs: one object that exports only the names in attn.h, which prevents conflicts.
OBJCOPY = objcopy
$(BUILD)/libattn.a: $(HOSTED_OBJECTS)
	$(call SAY,archive,$@) rm -f $@; \
		$(CC) $(ONE_OBJECT) -r -nostdlib $^ -o $(BUILD)/libattn.o && \
		$(OBJCOPY) --wildcard --keep-global-symbol='attn_*' $(BUILD)/libattn.o && \
		$(AR) $(ARCHIVE) $@ $(BUILD)/libattn.o && rm $(BUILD)/libattn.o

# Without sanitizers: clang would link their runtime into the object. With -flto, gcc must compile
# now, before objcopy removes names.
ONE_OBJECT = $(filter-out -fsanitize% -fprofile% --coverage,$(CFLAGS)) \
	$(if $(findstring -flto,$(CFLAGS)),$(if $(findstring Free,$(shell $(CC) --version)), \
	-flinker-output=nolto-rel))

# The shared library; it uses the system's shared libraries.
$(BUILD)/libattn.so: $(HOSTED_OBJECTS) lib/attn.map
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) \
		-Wl,-z,defs,--version-script=lib/attn.map $(HOSTED_OBJECTS) $(LIBRARIES) \
		-o $(BUILD)/$(SONAME) && ln -sf $(SONAME) $@

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/dependencies
	@mkdir -p $(@D)
	$(call SAY,compile,$<) $(compile)

compile = $(COMPILE) $(ANYWHERE) $(if $(filter $(HOSTED_OBJECTS),$@),$(SHAREABLE)) \
	$(if $(filter $(BUILD)/tests/%,$@),$(LIGHTLY)) \
	$(if $(filter $(BUILD)/lib/math/%,$@),,$(OUTSIDE_MATH)) -MMD -MP -c $< -o $@
# With few optimisations, tests compile in half the time and run as fast.
LIGHTLY = $(if $(filter file,$(origin CFLAGS)),-O1)
# Other flags for all files outside of lib/math.
OUTSIDE_MATH =

# The bundled models as bytes in a C table.
$(BUILD)/lib/model/bundled_models.c: models/embed.sh $(MODEL_FILES)
	@mkdir -p $(@D)
	$(call SAY,embed,models) sh models/embed.sh $(BUNDLED) -- $(DICTIONARIES) >$@.part; \
		mv $@.part $@

# The page of --format html as a C table, with the engine of live pages if `make wasm` built it.
ENGINE = $(wildcard $(BUILD)/wasm/live.wasm)
$(BUILD)/lib/draw/page_template.c: lib/draw/page/embed.sh $(wildcard lib/draw/page/*) $(ENGINE)
	@mkdir -p $(@D)
	$(call SAY,embed,page) sh $< $(ENGINE) >$@.part; mv $@.part $@

# The scripts of help --completion, as a C table.
$(BUILD)/cmd/completion_scripts.c: cmd/completion/embed.sh $(wildcard cmd/completion/*)
	@mkdir -p $(@D)
	$(call SAY,embed,completion) sh $< >$@.part; mv $@.part $@

# The headings of the guides, which `help WORD` searches, as a C table.
GUIDES = $(filter-out %/README.md,$(sort $(wildcard data/guides/*.md)))
$(BUILD)/cmd/guide_headings.o: override CPPFLAGS += -Icmd
$(BUILD)/cmd/guide_headings.c: cmd/guides/embed.sh $(GUIDES)
	@mkdir -p $(@D)
	$(call SAY,embed,guides) sh $< $(GUIDES) >$@.part; mv $@.part $@

guides: all ## renew what the guides copy from help
	@sh cmd/guides/reference.sh $(BUILD)/attn-cli data/guides

# The texts of lesson in each language, as C tables.
$(BUILD)/cmd/lesson_texts.o: override CPPFLAGS += -Icmd
$(BUILD)/cmd/lesson_texts.c: cmd/lesson/embed.sh $(wildcard cmd/lesson/*)
	@mkdir -p $(@D)
	$(call SAY,embed,lesson) sh $< >$@.part; mv $@.part $@

$(BUILD)/%.o: $(BUILD)/%.c $(BUILD)/flags | $(BUILD)/dependencies
	$(call SAY,compile,$<) $(compile)

# Changes with the compiler and its flags: then all objects are compiled again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	$(if $(machine),$(call note,$(COMPILE) $(SHAREABLE)))

# Write a file only if its text changes.
note = @printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' >$@

# Look for packages before compiling. `run`, the tests, and packages install missing ones, all at
# once, so that sudo asks for a password once.
INSTALLING = run test test-all test-programs $(BUILD)/unit test-cluster test-page test-live \
	test-static test-gguf arm64 wasm format-check static wheel deb release
ACTION = $(if $(filter $(INSTALLING),$(MAKECMDGOALS)),install,check)
SET = $(or $(if $(filter test-all,$(MAKECMDGOALS)),everything),\
	$(if $(filter test test-programs $(BUILD)/unit,$(MAKECMDGOALS)),tests),\
	$(firstword $(filter static wheel,$(MAKECMDGOALS))))
SETUP = CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(LDFLAGS)' sh ./dependencies.sh $(ACTION)

$(BUILD)/dependencies: dependencies.sh $(BUILD)/flags
	@$(SETUP) $(SET)
	@touch $@ $(SET:%=$(BUILD)/dependencies-of-%)

$(BUILD)/dependencies-of-%: dependencies.sh $(BUILD)/flags | $(BUILD)/dependencies
	@$(SETUP) $*
	@touch $@

# If there is no compiler yet, its machine is unknown: make reads this file again after installing.
ifeq ($(machine)$(filter help clean dist format uninstall,$(MAKECMDGOALS)),)
include $(BUILD)/dependencies
endif

-include $(patsubst %.o,%.d,$(LIB_OBJECTS) $(CMD_OBJECTS) $(UNIT_OBJECTS) $(ORACLE_OBJECTS) \
	$(REFUSALS_OBJECTS) $(FLIPS_OBJECTS) $(FOOTPRINT_OBJECTS) $(FUZZ_OBJECTS) $(FAULT_OBJECTS))
-include $(BUILD)/models/maker.d

# --- tests ---------------------------------------------------------------------------------------

FUZZERS := $(patsubst tests/harm/fuzz/%_fuzz.c,$(BUILD)/fuzz/%,$(wildcard tests/harm/fuzz/*_fuzz.c))
TEST_PROGRAMS = \
	$(patsubst %,$(BUILD)/%,attn-cli unit oracle refusals flips faults) \
	$(patsubst %,$(BUILD)/%,footprint generate-models libattn.a) \
	$(SHARED) $(FUZZERS)

test-programs: $(TEST_PROGRAMS) all ## build everything that the tests run

test: $(TEST_PROGRAMS) ## run the tests that are fast; installs Check and jq
	@sh tests/run/run.sh $(BUILD)

test-all: $(TEST_PROGRAMS) $(BUILD)/dependencies-of-everything ## install what tests use, run all
	@WHOLE=1 PAGE=modules sh tests/run/run.sh $(BUILD)

$(UNIT_OBJECTS): | $(BUILD)/dependencies-of-tests

$(BUILD)/unit: $(UNIT_OBJECTS) $(BUILD)/libcommands.a $(BUILD)/internal.a $(BUILD)/unit-suites
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $(filter-out %-suites,$^) $(TEST_LIBS) \
		$(LIBS) -o $@

$(BUILD)/unit-suites: FORCE
	@mkdir -p $(@D)
	$(call note,$(UNIT_SUITES))

$(BUILD)/oracle: $(ORACLE_OBJECTS) $(BUILD)/internal.a
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/refusals: $(REFUSALS_OBJECTS) $(BUILD)/internal.a
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/footprint: $(FOOTPRINT_OBJECTS)
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@

$(BUILD)/flips: $(FLIPS_OBJECTS) $(BUILD)/internal.a
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# All objects of cmd except main.o.
$(BUILD)/libcommands.a: $(filter-out %/main.o,$(CMD_OBJECTS))
	$(call SAY,archive,$@) rm -f $@; $(AR) $(ARCHIVE) $@ $^

# A program for each target in tests/harm/fuzz. Linked with replay.c it reads the corpus, linked
# with libFuzzer it makes new inputs.
FUZZ_MAIN = $(patsubst %,$(BUILD)/tests/harm/fuzz/%.o,replay mutate)
FUZZ_COMMON = $(patsubst %,$(BUILD)/tests/harm/fuzz/%.o,engine encode run_model)

fuzzers: $(FUZZERS)

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/tests/harm/fuzz/%_fuzz.o $(FUZZ_COMMON) $(FUZZ_MAIN) \
		$(BUILD)/libcommands.a $(BUILD)/internal.a
	@mkdir -p $(@D)
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $(FUZZ_LINK) $^ $(LIBS) -o $@

FUZZ_CC = clang
FUZZ_SECONDS = 60
FUZZ_LEVEL = -O2
# Coverage with comparisons. Counters alone are several times as fast:
# FUZZ_COVERAGE=-fsanitize-coverage=inline-8bit-counters,pc-table
FUZZ_COVERAGE = -fsanitize=fuzzer-no-link

fuzz: ## fuzz each parser for FUZZ_SECONDS with clang's libFuzzer
	@CC='$(FUZZ_CC)' sh ./dependencies.sh install fuzzing
	@$(MAKE) --no-print-directory fuzzers BUILD=$(BUILD)/fuzzing CC='$(FUZZ_CC)' WERROR= \
		FUZZ_MAIN= FUZZ_LINK=-fsanitize=fuzzer CFLAGS='$(FUZZ_LEVEL) -g1 -fopenmp-simd \
		-fno-math-errno -fno-trapping-math $(FUZZ_COVERAGE) $(SANITIZE)'
	@sh tests/harm/fuzz.sh run $(BUILD)/fuzzing $(FUZZ_SECONDS)

$(BUILD)/faults: $(FAULT_OBJECTS) $(BUILD)/libcommands.a $(BUILD)/internal.a
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

test-faults: $(BUILD)/attn-cli $(BUILD)/faults ## fail each allocation and system call; races
	@sh tests/harm/faults.sh memory $(BUILD)
	@sh tests/harm/faults.sh system $(BUILD)
	@sh tests/harm/races.sh $(BUILD) 500

test-hostile: $(TEST_PROGRAMS) ## run tests without HOME, in odd folders, with read-only sources
	@sh tests/systems/hostile.sh $(BUILD)

test-bare: ## make run, make test and README in a new Debian; needs root, debootstrap
	@sh tests/systems/chroot.sh

test-frozen: $(BUILD)/attn-cli ## compare the values of command lines with recorded ones
	@python3 tests/references/frozen/frozen.py check $(BUILD)

test-page: $(BUILD)/attn-cli ## test the HTML page in Chromium, which it installs
	@$(SETUP) page
	@sh tests/readers/page/run.sh $(BUILD) modules

# With sanitizers gcc gives false warnings, so warnings are not errors here. -march: functions have
# no clones for several instruction sets here; without it each fmaf in C would be a call, and the
# tests would take an hour. -O1 compiles in two thirds of the time of -O2. -g1:
# reports need only line numbers; all debug information would take a sixth of the compile time.
# The checks are for cmd and lib: without most of them, tests compile in a third of the time.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
INSTRUMENTED = -O1 -ftree-vectorize -march=native -g1 -fopenmp-simd -fno-math-errno \
	-fno-trapping-math
SANITIZED = BUILD=$(BUILD)/asan WERROR= CFLAGS='$(INSTRUMENTED) $(SANITIZE)' \
	LIGHTLY='-O0 -fno-sanitize=undefined' TEST_PROGRAMS='$(patsubst %,$(BUILD)/asan/%, \
	attn-cli unit oracle refusals flips faults footprint)'

# Samples, because without sanitizers all of it runs elsewhere; a fault in memory shows in any of
# many lines, cases or items that run the same code. `make fuzz` reads the corpora.
asan: ## what could go wrong in memory, with the address and undefined-behaviour sanitizers
	@ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16 BATCH_ITEMS=200 \
		REFUSALS_EVERY=9 FLIPS_STRIDE=13 FAULT_EVERY=1201 FAULT_LINES=3 \
		RACE_ROUNDS=3 CLI_SHARE=/24 \
		ATTN_UNIT_FEW=60 ATTN_UNIT_LOOPS=2 SUITES_EVERY=2 \
		STAGES='unit unit-2 cli batch oracle refusals flips memory races' \
		GOLDEN='life-cross gemma3_text' \
		$(MAKE) --no-print-directory test $(SANITIZED)

# Optimised as usual is lib/math alone: its loops decide bits, and clang warns without optimising.
test-clang: ## compile cmd and lib with clang, test kernels and model families; installs it
	@ATTN_UNIT_FEW=30 STAGES='unit unit-2 oracle' \
		GOLDEN='gpt2-micro-f16 life-cross transformer-pre gemma3_text falcon opt' \
		$(MAKE) --no-print-directory test BUILD=$(BUILD)/clang CC=clang \
		UNIT_SUITES='math/*' OUTSIDE_MATH='-O0 -g0' \
		TEST_PROGRAMS='$(patsubst %,$(BUILD)/clang/%,attn-cli unit oracle)'

long-hauls: $(BUILD)/attn-cli ## test time and memory with large inputs and outputs
	@sh tests/harm/long_hauls.sh $(BUILD) long

test-cluster: all ## run experiments with GNU parallel, mpirun and Slurm, which it installs
	@$(SETUP) cluster || true # the test skips what is missing
	@sh tests/systems/cluster.sh $(BUILD)

test-workflows: all ## run experiments with Snakemake and Ray of PyPI
	@sh tests/systems/workflows.sh $(BUILD)

# libxsmm's code is generated at run time and is not instrumented.
THREADED = train_step growth mechanism edit gemm heap machine attn_step attn_host
tsan: ## test what runs in several threads with ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan WERROR= \
		CFLAGS='$(INSTRUMENTED) -fsanitize=thread' UNIT_SUITES='$(THREADED)' \
		$(BUILD)/tsan/attn-cli $(BUILD)/tsan/unit
	@sh tests/harm/tsan.sh $(BUILD)/tsan $(THREADED)

# A fault that hits gcov's own files resets its counts: tests skip such faults if ASAN_OPTIONS or
# COVERAGE is set.
coverage: ## list lines of lib that handle errors and no test reaches, with gcov
	@WHOLE=1 COVERAGE=1 ASAN_OPTIONS=coverage=0 FAULT_EVERY=1 FLIPS_STRIDE=7 \
		BATCH_ITEMS=400 $(MAKE) --no-print-directory \
		BUILD=$(BUILD)/coverage WERROR= \
		CFLAGS='-O0 -g -fopenmp-simd --coverage -fprofile-update=atomic' test || true
	@sh tests/run/coverage.sh $(BUILD)/coverage

# Uses a cross compiler and Debian's libraries for arm64, which it downloads.
arm64: ## build for arm64 and run tests in qemu; installs what it needs
	@$(SETUP) arm64 && $(SETUP) static || true # the test skips what is missing
	+@MAKE='$(MAKE)' sh tests/systems/arm64.sh $(BUILD)/aarch64

# Sources of the engine: the core, lib/live, and the writers of a page's numbers.
WASM_FILES = $(wildcard $(patsubst %,lib/%/*.c,base format text text/* math model model/* pass \
	lens live)) \
	lib/write/json_report.c lib/draw/page_data.c \
	$(patsubst %,lib/measure/%.c,logit_lens question resid_parts \
		finding score_attribution token_scores trials)

$(BUILD)/live.wasm: $(call objects,$(WASM_FILES))
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) -mexec-model=reactor -Wl,--strip-all \
		-Wl,-z,stack-size=1048576 $^ -lwasi-emulated-mman -lutf8proc -lcjson -lonig -o $@

# Uses clang; downloads Debian's sources of the libraries and compiles them.
wasm: ## compile the engine for browsers, for live pages; installs what it needs
	@$(SETUP) wasm || true # build.sh says what is missing
	+@MAKE='$(MAKE)' sh lib/live/build.sh $(BUILD)/wasm
	+@$(MAKE) --no-print-directory all

site: ## write the live page of tiny as a folder for a web server: BUILD/site
	@$(MAKE) --no-print-directory wasm
	@sh lib/draw/page/site.sh $(BUILD)/attn-cli $(BUILD)/site

test-live: ## test the engine of live pages in node; skipped if it cannot be built
	@$(SETUP) wasm || true
	+@MAKE='$(MAKE)' sh lib/live/build.sh $(BUILD)/wasm || [ $$? = 69 ]
	+@$(MAKE) --no-print-directory all
	@sh tests/readers/live/run.sh $(BUILD)

test-static: $(BUILD)/attn-cli ## test the static program in an empty root; skipped if not built
	@$(SETUP) static || true
	@[ -d $(BUILD)/archives ] || $(FETCH) $(BUILD)/archives || [ $$? = 69 ]
	+@[ ! -d $(BUILD)/archives ] || $(MAKE) --no-print-directory static
	@sh tests/systems/static.sh $(BUILD)

test-release: $(BUILD)/attn-cli ## build a release twice and compare; run arm64's in qemu
	+@MAKE='$(MAKE)' sh tests/systems/release.sh $(BUILD)

test-gguf: $(BUILD)/attn-cli ## compare GGUF files with llama.cpp, which npm installs
	@$(SETUP) gguf || true # the test skips what is missing
	@sh tests/references/gguf/run.sh $(BUILD)

# REAL=small: only SmolLM2, as in .ci/run.
test-real: $(BUILD)/attn-cli ## compare real models with transformers, TransformerLens, minicons
	@sh tests/references/real/run.sh $(BUILD) $(REAL)

test-deb: $(BUILD)/attn-cli ## test make deb's packages in a new Debian; needs root, debootstrap
	@sh tests/systems/deb.sh $(BUILD)

VALGRIND_EVERY = 1
valgrind: $(TEST_PROGRAMS) ## run unit tests and some command lines under valgrind
	@sh tests/harm/valgrind.sh $(BUILD) $(VALGRIND_EVERY)

format: ## format all C files with clang-format 14
	@clang-format -i $(C_FILES)

format-check: ## fail if a C file is not formatted; installs clang-format
	@$(SETUP) format
	@case $$(clang-format --version) in *"version 14."*) \
		clang-format --dry-run -Werror $(C_FILES) ;; \
	*) echo 'skipped: clang-format 14 is not installed: others see details differently' && \
		echo '0 passed, 0 failed, 1 skipped' ;; esac

# --- models --------------------------------------------------------------------------------------

bench-peers: $(BUILD)/attn-cli $(BUILD)/libattn.so ## compare speed with PyTorch and others
	@sh tests/references/peers/run.sh $(BUILD)

bench-tokenizers: $(BUILD)/attn-cli ## time tokenizers in FOLDERS= on TEXT=, with tokenizers.js
	@cd tests/texts/other_tokenizers && npm ci --silent && \
		node speed.mjs $(abspath $<) $(abspath $(TEXT) $(FOLDERS))

check-published: $(BUILD)/attn-cli ## compare checkpoints in MODELS= with published numbers
	@sh tests/references/published.sh '$(MODELS)' $(BUILD)

pictures: $(BUILD)/attn-cli ## draw the README's pictures
	@sh data/pictures/draw.sh $(BUILD)/attn-cli

models: $(BUILD)/generate-models ## write the worked examples in models/
	$< models models $(EXAMPLES)

tiny: $(BUILD)/attn-cli ## train the default model in BUILD/tiny: up to half an hour
	@sh models/train.sh $(BUILD)/attn-cli $(BUILD)/tiny
	@sh tests/references/figures.sh $(BUILD) $(BUILD)/tiny

# Not linked with the library, which contains the models.
MAKER_FILES = models/maker.c $(wildcard lib/base/*.c lib/format/*.c lib/model/config*.c) \
	$(patsubst %,lib/model/%.c,layer new_model parameter_table points site) \
	$(wildcard lib/model/family/*.c) lib/math/activation.c lib/math/rng.c \
	lib/train/weight_init.c

$(BUILD)/generate-models: $(call objects,$(MAKER_FILES))
	$(call SAY,link,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# Use one locale everywhere: in many others awk reads and writes 0,5.
export LC_ALL := C.UTF-8

# --- installing ----------------------------------------------------------------------------------

ROOT = $(DESTDIR)$(PREFIX)
DOCS = $(ROOT)/share/doc/attn-cli
MANS = $(ROOT)/share/man/man1
MAN3 = $(ROOT)/share/man/man3
BASH = $(ROOT)/share/bash-completion/completions
ZSH  = $(ROOT)/share/zsh/site-functions
FISH = $(ROOT)/share/fish/vendor_completions.d
PKGS = $(ROOT)/$(LIBDIR)/pkgconfig
DATA = $(ROOT)/share/attn-cli
FOLDERS = '$(ROOT)/bin' '$(ROOT)/include' '$(DOCS)' '$(MANS)' '$(MAN3)' '$(BASH)' '$(ZSH)' \
	'$(FISH)' '$(PKGS)' '$(DATA)/schemas'
LIBRARIES = $(if $(GENERATES),-lxsmmgen) -lutf8proc -lcjson -lonig -lpthread -ldl -lm
COMMANDS = $(shell sed -n '/const commands/,/^};/s/ *&command_\([a-z]*\),/\1 /gp' cmd/commands.c)
# Sets an rpath if the loader does not search PREFIX.
FOUND = $(if $(filter-out /usr /usr/local,$(PREFIX)),-Wl$(comma)-rpath$(comma)$${prefix}/$(LIBDIR))
comma = ,

install: all ## install to DESTDIR/PREFIX (PREFIX: /usr/local, for which it needs sudo)
	@at='$(ROOT)/bin'; until [ -e "$$at" ]; do at=$$(dirname "$$at"); done; [ -w "$$at" ] || { \
		printf "install: cannot write to '%s': use 'sudo make install', or %s\n" "$$at" \
		"'make install PREFIX=\"\$$HOME/.local\"'" >&2; exit 1; }
	@new=$$(for at in $(FOLDERS); do until [ -e "$$at" ]; do echo "$$at"; \
		at=$$(dirname "$$at"); done; done); install -d $(FOLDERS) && \
		{ [ -z "$(if $(DESTDIR),,$$new)" ] || printf '%s\n' "$$new" >>'$(DATA)/folders'; }
	install -m 755 $(BUILD)/attn-cli '$(ROOT)/bin'
	install -m 644 $(BUILD)/libattn.a '$(ROOT)/$(LIBDIR)'
	$(if $(SHARED),install -m 644 $(BUILD)/$(SONAME) '$(ROOT)/$(LIBDIR)' && \
		ln -sf $(SONAME) '$(ROOT)/$(LIBDIR)/libattn.so')
	install -m 644 lib/attn.h '$(ROOT)/include'
	install -m 644 LICENSE THIRD-PARTY.md '$(DOCS)'
	install -m 644 data/schemas/*.json '$(DATA)/schemas'
	install -m 644 data/libattn.3 '$(MAN3)'
	$(BUILD)/attn-cli help --man >'$(MANS)/attn-cli.1'
	for command in $(COMMANDS); do \
		$(BUILD)/attn-cli help --man $$command >'$(MANS)'/attn-cli-$$command.1 || exit; done
	$(BUILD)/attn-cli help --completion bash >'$(BASH)/attn-cli'
	$(BUILD)/attn-cli help --completion zsh >'$(ZSH)/_attn-cli'
	$(BUILD)/attn-cli help --completion fish >'$(FISH)/attn-cli.fish'
	@printf '%s\n' "prefix=$$(printf '%s' '$(PREFIX)' | sed 's/ /\\ /g')" 'Name: attn' \
		'Version: $(VERSION)' \
		'Description: run language models and read the attention of every head' \
		'Cflags: -I$${prefix}/include' \
		'Libs: -L$${prefix}/$(LIBDIR) $(if $(SHARED),$(FOUND) -lattn,-lattn $(strip \
			$(LIBRARIES)))' \
		'Libs.private: $(strip $(LIBRARIES))' \
		>'$(PKGS)/attn.pc'
	@$(if $(DESTDIR),:,ldconfig 2>/dev/null; sh data/after_install.sh '$(PREFIX)')

uninstall: ## remove the installed files, and the folders that install made if they are empty
	rm -f '$(ROOT)/bin/attn-cli' '$(ROOT)/include/attn.h'
	rm -f '$(ROOT)/$(LIBDIR)/libattn.a' '$(ROOT)/$(LIBDIR)/libattn.so' \
		'$(ROOT)/$(LIBDIR)/$(SONAME)'
	rm -f '$(MAN3)/libattn.3' '$(MANS)/attn-cli.1' $(COMMANDS:%='$(MANS)/attn-cli-%.1')
	rm -f '$(BASH)/attn-cli' '$(ZSH)/_attn-cli' '$(FISH)/attn-cli.fish'
	rm -f '$(PKGS)/attn.pc'
	@folders=$$(sort -ru '$(DATA)/folders' 2>/dev/null); rm -rf '$(DOCS)' '$(DATA)'; \
		printf '%s\n' "$$folders" | while read -r at; do rmdir "$$at" 2>/dev/null; done; :

# TAR names a GNU tar. Packs the files that git tracks, or all files of an unpacked archive.
dist: ## pack the sources as BUILD/attn-cli-VERSION.tar.gz
	@mkdir -p $(BUILD)
	@sh data/packages/dist.sh $(BUILD)/attn-cli-$(VERSION).tar.gz

release: dist static wheel ## write archive, programs, wheels and checksums to BUILD/release
	+@MAKE='$(MAKE)' sh data/packages/release.sh $(BUILD) $(VERSION)

deb: dist ## build Debian packages in BUILD/deb; installs debhelper and build-essential
	@$(SETUP) deb
	@sh data/packages/deb.sh $(BUILD) $(VERSION)

clean: ## remove BUILD
	rm -rf $(BUILD)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: all run test test-all test-hostile test-bare test-faults test-cluster test-page asan tsan
.PHONY: coverage valgrind format format-check models bench-peers pictures tiny install
.PHONY: uninstall clean help fuzzers fuzz long-hauls FORCE
.PHONY: guides test-workflows
.PHONY: bench-tokenizers check-published arm64 test-live wasm site dist static test-static deb
.PHONY: release test-release wheel wheel-files
.PHONY: test-deb test-gguf test-clang test-real test-frozen test-programs
.DELETE_ON_ERROR:
