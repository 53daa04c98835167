/**
 * The sign-in to one MCP server, in a private file of the profile: `mcp-tokens/agent-webui/<name>-<hash>.json`.
 *
 * The host agent keeps its own sign-ins one level above. They are not shared: its files are not bound to an address, nothing
 * locks them while a token is renewed, and a refresh token that two programs use is revoked by many servers.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../base/sha256.ts'
import { z } from 'zod'
import { replaceText } from '../../store/atomic-write.ts'
import { JsonFile } from '../../store/json-file.ts'
import type { HttpServer } from '../config.ts'
import { reportWrite } from '../../store/write-reports.ts'

const Tokens = z.looseObject({
  access_token: z.string().min(1),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  /** Seconds since 1970. */
  issued_at: z.number(),
  /** Null: the server does not say. */
  expires_at: z.number().nullable(),
})

const StoredSignIn = z.looseObject({
  version: z.literal(1),
  /** The address of the MCP server. The tokens are sent nowhere else. */
  url: z.string(),
  /** What the authorization server said about itself at the sign-in. Refresh tokens are sent to this address only. */
  metadata: z.looseObject({
    issuer: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string().optional(),
    token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  }),
  /** RFC 8707; null when the server has no metadata of its own. */
  resource: z.string().nullable(),
  client: z.looseObject({
    client_id: z.string(),
    client_secret: z.string().optional(),
    token_endpoint_auth_method: z.string().optional(),
  }),
  /** Null after the authorization server has rejected it. Not `tokens`: every word in an object of that name counts as secret. */
  grant: Tokens.nullable(),
})
export type StoredSignIn = z.infer<typeof StoredSignIn>
export type StoredTokens = z.infer<typeof Tokens>

/** Names that differ only in characters that a file name cannot have get different files. */
const fileOf = (homeDir: string, name: string): string => {
  const mark = sha256(name).slice(0, 12)
  const safeName = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60)
  return join(homeDir, 'mcp-tokens', 'agent-webui', `${safeName}-${mark}.json`)
}

/** The sign-in of one server of a home. */
export class SignInFile {
  readonly path: string
  readonly #url: string
  readonly #file: JsonFile<StoredSignIn | null>

  constructor(homeDir: string, { name, url }: HttpServer) {
    this.path = fileOf(homeDir, name)
    this.#url = url
    this.#file = new JsonFile<StoredSignIn | null>(this.path, value =>
      value === undefined ? null : StoredSignIn.parse(value),
    )
  }

  /** Null when there is none, it cannot be read, or it belongs to another address. */
  read(): StoredSignIn | null {
    const signIn = this.#file.problem() === null ? this.#file.read() : null
    return signIn?.url === this.#url ? signIn : null
  }

  /** On disk when this returns. A damaged file is replaced: it is of no use to anyone. */
  write(next: StoredSignIn): void {
    replaceText(this.path, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 })
  }

  remove(): void {
    rmSync(this.path, { force: true })
    reportWrite(this.path)
  }
}
