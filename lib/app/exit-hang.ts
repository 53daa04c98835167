/** Keeps `process.exit()` from waiting forever. */
import { setFlagsFromString } from 'node:v8'

/**
 * Call before code that has a V8 code cache is loaded, because a cache fits only the flags that it was made with. Node 24 waits
 * at its exit for the threads of V8's Maglev compiler, and a compilation that needs a garbage collection waits for the main
 * thread: the process stays until it is killed, after all of its work is done (https://github.com/nodejs/node/issues/54918).
 * Without Maglev, code goes from Sparkplug to TurboFan.
 */
export const preventExitHang = (): void => setFlagsFromString('--no-maglev')
