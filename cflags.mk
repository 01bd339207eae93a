# Shared by probes/Makefile and collectives-alt/Makefile. BUILD is build/<MPI id>, absolute.
MPICC ?= mpicc
CFLAGS ?= -O2 -g
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
# A path is one from the root, where `make build` is typed.
ifneq ($(findstring /,$(MPICC)),)
override MPICC := $(if $(filter /%,$(MPICC)),,$(ROOT)/)$(MPICC)
endif
MPI_ID ?= $(shell sh $(ROOT)/probes/mpi-id.sh $(MPICC))
BUILD ?= $(ROOT)/build/$(MPI_ID)
# Intel MPI's wrapper finds headers and libraries here; unset outside its own environment script.
export I_MPI_ROOT ?= $(abspath $(dir $(shell command -v $(MPICC)))..)
# Not empty: programs run on SimGrid's simulation of a machine (docs/simulated.md).
SIMULATED := $(filter simgrid-%,$(MPI_ID))
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' $(ROOT)/pyproject.toml)
# What the probe says about its build; everything is compiled again when it changes.
BUILD_FLAGS := $(subst ',,$(strip $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS)))
PL_CFLAGS := -std=c11 -D_GNU_SOURCE -DPL_VERSION='"$(VERSION)"' -Wall -Wextra -Wshadow \
             -Wstrict-prototypes -fvisibility=hidden -fPIC -I$(ROOT)/collectives-alt \
             -I$(ROOT)/collectives-alt/common -I$(ROOT)/probes -MMD -MP \
             $(if $(SIMULATED),-DPMPI_Comm_call_errhandler=pl_simulated_call_errhandler) \
             $(EXTRA_CFLAGS)

.DEFAULT_GOAL := all
.PHONY: FORCE
$(BUILD)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(MPICC) $(BUILD_FLAGS)' | cmp -s - $@ || echo '$(MPICC) $(BUILD_FLAGS)' >$@
