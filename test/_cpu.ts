/** CPU time of this process, for time limits that hold on a busy machine. */

/** Milliseconds of user CPU time since the start of the process, all threads included. */
export const cpuMs = (): number => process.cpuUsage().user / 1_000
