/** A source of bytes that writes when it has something, instead of being asked for each piece. */

export type Sink = {
  /** False: the receiver is behind or has gone. Nothing may be written until `resume` is called. */
  write(piece: Buffer): boolean
  /** Nothing more comes; called once, and not after `fail`. */
  end(): void
  /** Nothing more comes, and what came is incomplete. */
  fail(error: unknown): void
}

/** What the receiver calls. */
export type Flow = {
  /** The receiver has taken what was written. */
  resume(): void
  /** The receiver has gone, or the source has ended. */
  close(): void
}

/** Starts the source, which may write at once. */
export type PushSource = (sink: Sink) => Flow
