# The commands of everyday work. Each is a script in scripts/.
#
#   make run                       build and start a ready world on http://127.0.0.1:9000/; ARGS="--config FILE" for another
#   make test                      all checks and tests, as CI runs them
#   make test STEPS="clippy test"  only these steps (scripts/test.sh lists them)
#   make test STEPS=long           1,000 seeds and 400 kills, for hours
#   make lint                      the quick steps: formatting, words, the page's own checks, licences, clippy, rustdoc
#   make previous COMMIT=main~1    save with the program of that commit, load with this one (builds it first); without COMMIT, the last one with other formats
#   make audit                     known vulnerabilities in dependencies (fetches the advisory database)
#   make fuzz SECONDS=600          fuzz every decoder that long; TARGET=header for one
#   make experiment NAME=daily     run an experiment with a release build, ARGS="--sink lo" for more; without NAME, list them
#   make soak MINUTES=45           the daily experiment for that long
#   make figures                   the figures of a release: all experiments three times, for hours; NAME=crowd for one, KEEP=DIR to continue later
#   make clean                     remove all builds; keeps ./data

SECONDS ?= 10
TARGET ?=
STEPS ?=
NAME ?=
ARGS ?=
MINUTES ?= 45
COMMIT ?=

.PHONY: run test lint previous audit fuzz experiment soak figures clean

run:
	@scripts/run.sh $(ARGS)

test:
	@scripts/test.sh $(STEPS)

lint:
	@scripts/test.sh toolchain format words web licences clippy rustdoc

previous:
	@scripts/previous.sh $(COMMIT)

audit:
	@scripts/audit.sh

fuzz:
	@scripts/fuzz.sh "$(SECONDS)" $(TARGET)

experiment:
	@scripts/experiment.sh $(if $(NAME),run $(NAME) $(ARGS),list)

soak:
	@scripts/experiment.sh run daily --duration $(MINUTES)m $(ARGS)

figures:
	@scripts/figures.sh $(NAME)

clean:
	cargo clean
	rm -rf web/dist web/node_modules tests/clients/node_modules scripts/licences/node_modules fuzz/target fuzz/artifacts
