# SPDX-License-Identifier: Apache-2.0
# The front door. The build itself is Meson's: see meson.build.
#
#	make run        install what is missing, build, show a demonstration
#	make test       build and run all tests, sanitizers and short fuzzing included
#	make bench      measure the scheduler, the layer and the shares, print JSON
#	make reproduce  compute the tables of docs/reproduction.md again
#	make adaptivity compute the tables of docs/adaptivity.md again
#	make lint       clang-format, clang-tidy, cppcheck
#	make format     let clang-format rewrite the sources
#	make install    PREFIX=/usr/local, DESTDIR= as usual
#	make deb        Debian packages, in build-deb/
#	make rpm        RPM packages, in build-rpm/
#	make deps       only install the packages that are missing (apt)
#	make clean      remove all build directories

PREFIX ?= /usr/local

all: build

deps:
	@scripts/deps

build:
	@scripts/deps build
	@test -f build/build.ninja || meson setup build >/dev/null
	@ninja -C build --quiet

run: build
	@build/cli/sluice demo

test: deps
	@scripts/test

bench: build
	@build/cli/sluice bench sched --json
	@build/cli/sluice bench path --quick --json
	@build/cli/sluice bench share --quick --json --filter nodes=1

reproduce: build
	@scripts/reproduce

adaptivity: build
	@scripts/adaptivity

lint: deps build
	@scripts/lint

format:
	@find . -path './build*' -prune -o \( -name '*.c' -o -name '*.h' \) -print0 | \
		xargs -0 clang-format -i

install: build
	@meson configure build -Dprefix='$(PREFIX)' && ninja -C build --quiet >/dev/null
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild --quiet

deb:
	@scripts/deb

rpm:
	@scripts/rpm

clean:
	rm -rf build build-asan build-tsan build-fuzz build-deb build-rpm

.PHONY: all deps build run test bench reproduce adaptivity lint format install deb rpm clean
