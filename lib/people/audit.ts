/**
 * The audit log: who signed in, and who changed what about access, as one JSON object per line. At most two files of 1 MB:
 * audit.jsonl and the one before it. Never contains secrets; a line that cannot be written only costs a warning.
 */
import { renameSync, statSync } from 'node:fs'
import { z } from 'zod'
import { redact } from '../base/redact/redact.ts'
import { type Clock, toSeconds } from '../base/clock.ts'
import type { Ctx } from '../context.ts'
import { messageOf, UserError } from '../errors.ts'
import { NO_PERSON } from '../schema/person.ts'
import { appendText, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'
import { SESSION_COOKIE } from './sign-ins.ts'

const MAX_BYTES = 1 << 20
const MAX_DETAIL_CHARS = 200

/** Each with what its `detail` is. */
export const AUDIT_KINDS = [
  'sign-in', // password, passkey, pairing, oidc, or proxy and the user
  'sign-in-failed', // the same, and the error code
  'sign-out',
  'device-revoked', // the id, or "others"
  'device-paired', // its name
  'identity-linked', // its name
  'identity-unlinked',
  'passkey-added', // its name
  'passkey-deleted',
  'codes-on',
  'codes-off',
  'recovery-renewed',
  'password-set',
  'password-removed',
  'tokens', // created, revoked, on or off
  'shares', // created, revoked, on or off
  'settings', // names of the keys that changed, or what changed in notifications, backups, and permissions
  'keys', // the provider
  'person-invited', // name and role, or the id
  'person-changed', // the id and the new role
  'person-removed', // the id
  'approval', // the choice and the session
] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

export const AuditEntry = z.object({
  /** Seconds since 1970. */
  at: z.number(),
  what: z.string(),
  /** Where it came from: the client's address, and the device's name or user agent. */
  address: z.string(),
  device: z.string(),
  /** Absent: the only person there was. */
  person: z.string().optional(),
  detail: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

export class Audit {
  readonly #path: string
  readonly #clock: Clock
  readonly #warn: (text: string) => void
  readonly #older: string
  #isBroken = false
  /** The first entry of a process must not continue a line that a power cut tore. Empty lines are skipped. */
  #start = '\n'

  constructor(path: string, clock: Clock, warn: (text: string) => void) {
    this.#path = path
    this.#clock = clock
    this.#warn = warn
    this.#older = path.replace(/\.jsonl$/, '.1.jsonl')
  }

  note(
    what: AuditKind,
    from: { address: string; device: string; person?: string | undefined; detail?: string },
  ): void {
    const { address, device, person, detail = '' } = from
    const entry: AuditEntry = {
      at: Math.floor(toSeconds(this.#clock.now())),
      what,
      address,
      device: redact(device).slice(0, MAX_DETAIL_CHARS),
      ...(person && { person: redact(person).slice(0, MAX_DETAIL_CHARS) }),
      detail: redact(detail).slice(0, MAX_DETAIL_CHARS),
    }
    try {
      const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
      if (size > MAX_BYTES) renameSync(this.#path, this.#older)
      if (size > MAX_BYTES) reportWrite(this.#older)
      appendText(this.#path, `${this.#start}${JSON.stringify(entry)}\n`)
      this.#start = ''
      this.#isBroken = false
    } catch (error) {
      if (!this.#isBroken) this.#warn(`${this.#path} cannot be written: ${messageOf(error)}`)
      this.#isBroken = true
    }
  }

  /** Newest first: `limit` entries of these kinds (empty: all) after the first `skip`. */
  list({ kinds, skip, limit }: { kinds: readonly string[]; skip: number; limit: number }) {
    const entries = [...this.#readFile(this.#older), ...this.#readFile(this.#path)]
      .filter(({ what }) => kinds.length === 0 || kinds.includes(what))
      .toReversed()
    return { entries: entries.slice(skip, skip + limit), total: entries.length }
  }

  #readFile(file: string): AuditEntry[] {
    let text: string
    try {
      text = readWholeText(file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn(`${file} cannot be read: ${messageOf(error)}`)
      return []
    }
    return text.split('\n').flatMap(line => {
      try {
        return AuditEntry.parse(JSON.parse(line))
      } catch {
        // The empty text after the last line, or a line that a power cut tore.
        return []
      }
    })
  }
}

const noteOf = (ctx: Ctx, what: AuditKind, detail: string): void => {
  const { auth, audit, people } = ctx.app
  const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(({ current }) => current)
  const device = own?.name || ctx.req.headers['user-agent'] || ''
  // The sign-in itself is made by the request, so it is not in its cookies yet.
  const person =
    ctx.person.id !== NO_PERSON.id && (ctx.person.id !== '' || people.hasOthers())
      ? people.nameOf(ctx.person)
      : undefined
  audit.note(what, { address: ctx.client.address, device, person, detail })
}

/** The `audit` of an endpoint: records that it succeeded. `detailOf` must return no secret. Undefined: nothing to record. */
export const recorded =
  <I>(what: AuditKind, detailOf: (input: I) => string | undefined = () => '') =>
  (ctx: Ctx, input: I, error?: unknown): void => {
    const detail = error === undefined ? detailOf(input) : undefined
    if (detail !== undefined) noteOf(ctx, what, detail)
  }

/**
 * Only refusals that the throttle counts: others cost nothing, so anyone could push everything else out of the log with them.
 * The request for a code is a step of every sign-in with codes.
 */
const isFailure = (error: unknown): error is UserError =>
  error instanceof UserError && error.kind === 'unauthorized' && error.code !== 'code_required'

/** The `audit` of an endpoint that signs in. */
export const recordedSignIn =
  <I>(method: string, nameOf: (input: I) => string = () => '') =>
  (ctx: Ctx, input: I, error?: unknown): void => {
    const how = `${method} ${nameOf(input)}`.trim()
    if (error === undefined) {
      if (ctx.app.auth.enabled()) noteOf(ctx, 'sign-in', how)
    } else if (isFailure(error)) noteOf(ctx, 'sign-in-failed', `${how} ${error.code ?? ''}`.trim())
  }
