/** Processor time of this process. A bound on it holds however busy the machine is; a bound on the clock doesn't. */

/** Milliseconds of user time since the start of the process, all its threads included. */
export const cpuMs = (): number => process.cpuUsage().user / 1_000
