/**
 * Node opens its debugger on SIGUSR1, and whoever connects to it runs code in this process. Every program of this user can send the
 * signal, also one that the agent started. A listener replaces that action. `--disable-sigusr1` (build/node-flags.mjs) covers the
 * time before, where the program is started with options.
 */
export const closeDebugger = (): void => {
  process.on('SIGUSR1', () => undefined)
}
