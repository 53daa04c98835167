/** How the service is started: options for Node and environment variables. */
import { MALLOC_TUNABLES } from '../lib/profiles/child-env.ts'

/**
 * V8 lets the young generation grow to 96 MB for a program with much garbage; with parts of 4 MB the service needs 40 MB less in a
 * long turn and the same CPU time (`npm run bench -- engine`).
 */
export const NODE_FLAGS = ['--max-semi-space-size=4']

/** glibc reads it when a process starts, so the service can't set it itself. */
export const START_ENV = { GLIBC_TUNABLES: MALLOC_TUNABLES }
