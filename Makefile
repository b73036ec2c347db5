# make            build/regimen, build/libregimen.so and .a, optimized; installs nothing
# make deps       install what the build needs (Debian's packages, by apt)
# make demo       make deps, build, and train a graph network with progress on screen
# make test       install what tests need too, build them, and run those of every day: below 8 minutes on two cores
# make slow       the long ones: kills, faults, Slurm, the page in a browser; 10 minutes
# make long       those of slow in their longest form: every kernel's every case on a device, 50 kills; 10 minutes
# make oracle     the tests against other people's programs; TF=1: against TF-GNN and TensorFlow too (2 GB from PyPI)
# make gpu        on a machine with a GPU: rows, gradients and trainings on it, DEVICE=cuda:0 (docs/device.md)
# make bench      time the workloads against their floors (and PyTorch where it is installed)
# make check      what a merge needs: format, layers, docs, both compilers, sanitizers, tests
# make coverage   lines and branches that the tests reach, layer by layer (a quarter of an hour on two cores)
# make lint       cppcheck over library and command
# make reproduce  two builds in two folders have the same bytes; runs by both compilers too
# make install    PREFIX=/usr/local LIBDIR=lib: program, libraries, headers, files for pkg-config and find_package,
#                 man pages, completion, licences; DESTDIR as usual
# make uninstall  PREFIX=/usr/local: what make install put there
# make clean
PREFIX ?= /usr/local
LIBDIR ?= lib
JOBS   ?= $(shell nproc)

# Each recipe has its own JOBS; two of apt or of a build beside each other would only wait.
.NOTPARALLEL:
.PHONY: all configured configured-tests deps deps-test deps-check demo test slow long oracle gpu bench check sanitize clang tsan \
        coverage lint reproduce install uninstall clean

all: configured
	@cmake --build build -j $(JOBS) --target regimen regimen_static regimen_cli

configured:
	@scripts/configure.sh -DCMAKE_INSTALL_LIBDIR=$(LIBDIR)

configured-tests:
	@scripts/configure.sh -DCMAKE_INSTALL_LIBDIR=$(LIBDIR) -DRGM_TESTS=ON

deps:
	@scripts/deps.sh build

deps-test:
	@scripts/deps.sh build test

deps-check:
	@scripts/deps.sh build test check

demo: deps all
	@scripts/demo.sh

test: deps-test configured-tests
	@cmake --build build -j $(JOBS)
	@JOBS=$(JOBS) scripts/tests.sh

slow: deps-test configured-tests
	@cmake --build build -j $(JOBS)
	@JOBS=$(JOBS) scripts/tests.sh slow

long: deps-test configured-tests
	@cmake --build build -j $(JOBS)
	@JOBS=$(JOBS) scripts/tests.sh long

# TF-GNN is not among those of `make test`: its answers are in tests/oracle/tfgnn_golden.txt, which an everyday test reads.
oracle: deps-test configured-tests
	@cmake --build build -j $(JOBS)
	@scripts/oracles.sh || true
	@cd build && ctest --output-on-failure -j $(JOBS) -L oracle
ifdef TF
	@scripts/oracles.sh tf
	@build/oracle-tf/bin/python tests/oracle/tfgnn_oracle.py --check
	@cd build && ctest --output-on-failure -R '^tfgnn_test$$'
	@RGM_BUILD=$(CURDIR)/build tests/oracle/saved_model.sh $(CURDIR)/build/regimen
endif

DEVICE ?= cuda:0
gpu: deps-test configured-tests
	@cmake --build build -j $(JOBS)
	@REGIMEN_DEVICE=$(DEVICE) scripts/gpu_check.sh

# By clang, so that these tests show too that another compiler than that of `make test` takes every file. Two of the
# longest mostly wait, so there is one job more than processors.
sanitize: deps-check
	@CC=clang cmake -S . -B build/asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -gline-tables-only" \
	       -DRGM_SANITIZE=address,undefined >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@cd build/asan && ctest --output-on-failure -j $$(($(JOBS) + 1)) -LE 'command|oracle|slow'

# The programs that have threads of their own, under clang's thread sanitizer.
THREADED = threads_test memory_test iterator_test dataset_test graph_build_test graph_codec_test \
           parallel_test log_test run_logs_test requests_test \
           http_server_test web_test index_test transfers_test answer_test behind_test
tsan: deps-check
	@CC=clang cmake -S . -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	       -DCMAKE_C_FLAGS_DEBUG="-O1 -gline-tables-only" -DRGM_SANITIZE=thread >/dev/null
	@cmake --build build/tsan -j $(JOBS) --target $(THREADED)
	@cd build/tsan && ctest --output-on-failure -j $(JOBS) \
	       -R "^($$(echo $(THREADED) | tr ' ' '|'))$$"

clang: deps-check
	@CC=clang cmake -S . -B build/clang -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
	@cmake --build build/clang -j $(JOBS)
	@cd build/clang && ctest --output-on-failure -j $(JOBS) -LE 'command|oracle|slow'

# The everyday tests, and those of the command itself. Counted at -O0, where a line is a line.
coverage: deps-check
	@cmake -S . -B build/coverage -G Ninja -DCMAKE_BUILD_TYPE=Debug -DRGM_TIMEOUT=1800 \
	       -DCMAKE_C_FLAGS_DEBUG="-O0 --coverage" -DCMAKE_CXX_FLAGS_DEBUG="-O0 --coverage" >/dev/null
	@cmake --build build/coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@cd build/coverage && ctest --output-on-failure -j $(JOBS) -LE 'command|oracle|slow'
	@cd build/coverage && ctest --output-on-failure -j $(JOBS) -R '^(cli|modes|check|runs|score|plot)$$'
	@python3 scripts/coverage.py build/coverage

lint:
	@scripts/lint.sh

reproduce: deps-check
	@scripts/reproduce.sh

bench:
	@scripts/deps.sh build bench
	@$(MAKE) --no-print-directory configured
	@cmake --build build -j $(JOBS)
	@scripts/bench.sh

check:
	@scripts/check.sh

install: all
	@cmake --install build --prefix "$(PREFIX)"

uninstall: configured
	@scripts/uninstall.sh "$(PREFIX)"

clean:
	@rm -rf build
