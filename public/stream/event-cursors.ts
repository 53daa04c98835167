/**
 * What one tab has already seen of each source: drops doubles, and holds frames back while a snapshot is on its way.
 *
 * A snapshot fetched by HTTP says with its cursor up to where it reaches; frames that came meanwhile wait here, and those
 * the snapshot contains are dropped (storage.md, A4).
 */
import type { Frame } from '../../lib/schema/event.ts'
import { parseCursor, type Source } from './stream.ts'

export type Hold = { source: Source }

type Standing = { boot: string; n: number; held: Frame[] | null; hold: Hold | null }

export type SourcesOptions = {
  deliver: (frame: Frame) => void
  /** The source cannot be resumed: fetch it, then `resume` with the reply's cursor. */
  refetch: (source: Source, hold: Hold) => void
}

export const createSources = ({ deliver, refetch }: SourcesOptions) => {
  const standings = new Map<Source, Standing>()

  const standingOf = (source: Source): Standing => {
    let standing = standings.get(source)
    if (!standing) {
      standing = { boot: '', n: 0, held: null, hold: null }
      standings.set(source, standing)
    }
    return standing
  }

  /** Frames of the source wait from here until `resume` with this hold; an earlier hold is void. */
  const hold = (source: Source): Hold => {
    const standing = standingOf(source)
    standing.hold = { source }
    standing.held = standing.held ?? []
    return standing.hold
  }

  const pass = (standing: Standing, frame: Frame): void => {
    if (frame.n <= standing.n) return
    standing.n = frame.n
    deliver(frame)
  }

  return {
    hold,
    /** Follows a source without a snapshot, for those that have none. */
    follow: (source: Source): void => void standingOf(source),
    /** False when a later hold or `forget` has made this one void: the snapshot must then not be used. */
    isCurrent: (given: Hold): boolean => standings.get(given.source)?.hold === given,
    resume(given: Hold, cursor: string | undefined): void {
      const standing = standings.get(given.source)
      if (standing?.hold !== given) return
      const at = parseCursor(cursor)
      const held = standing.held ?? []
      standing.boot = at?.boot ?? standing.boot
      standing.n = at?.n ?? standing.n
      standing.held = null
      standing.hold = null
      for (const frame of held) pass(standing, frame)
    },
    take(frame: Frame): void {
      const standing = standings.get(frame.source)
      if (!standing) return
      if (frame.type === 'reset') {
        standing.n = 0
        standing.held = []
        refetch(frame.source, hold(frame.source))
      } else if (standing.held) standing.held.push(frame)
      else pass(standing, frame)
    },
    forget: (source: Source): void => void standings.delete(source),
    /** `<boot>-<n>` of what this tab has; empty while it does not know. */
    cursor(source: Source): string {
      const standing = standings.get(source)
      return standing?.boot ? `${standing.boot}-${standing.n}` : ''
    },
    sessions: (): string[] =>
      [...standings.keys()]
        .filter(source => source.startsWith('session:'))
        .map(source => source.slice('session:'.length)),
  }
}

export type Sources = ReturnType<typeof createSources>
