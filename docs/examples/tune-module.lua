-- For Lmod, as tune-module for Environment Modules: mpirun and srun of this shell are tuned.
setenv("PLUMBLINE_DB", "/shared/plumbline/plumbline.db")
setenv("PLUMBLINE_SPOOL", "/shared/plumbline/spool")
set_shell_function("mpirun", 'plumbline run --tune 2m -- mpirun "$@"', "plumbline run --tune 2m -- mpirun $*")
set_shell_function("srun", 'plumbline run --tune 2m -- srun "$@"', "plumbline run --tune 2m -- srun $*")
