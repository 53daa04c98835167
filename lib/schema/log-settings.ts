/** Formats and levels of the log. */

/** Each level includes those before it. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LOG_FORMATS = ['text', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

export type LogSettings = Readonly<{
  format: LogFormat
  level: LogLevel
  /** Of a worker, whose cells write into one log; null elsewhere. */
  cell: string | null
}>
