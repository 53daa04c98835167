/** Sign-in state. Requests that get a 401 wait here and are repeated after the user signs in. */
import { type Signal, signal } from '@preact/signals'
import { ApiError, type ApiCall } from '../../api.ts'

export class SignInGate {
  readonly open: Signal<boolean> = signal(false)
  readonly #waiting: (() => void)[] = []

  /** Resolves after the next successful sign-in. */
  readonly waitForSignIn = (): Promise<void> =>
    new Promise(resolve => {
      this.#waiting.push(resolve)
      this.open.value = true
    })

  resolveAll(): void {
    this.open.value = false
    for (const resume of this.#waiting.splice(0)) resume()
  }
}

export class Auth {
  readonly #gate: SignInGate
  readonly #api: ApiCall
  readonly #navigate: (path: string) => void
  readonly busy = signal(false)
  readonly error = signal<string | null>(null)
  /** Whether the password needs a code beside it. */
  readonly needsCode = signal(false)
  readonly open: Signal<boolean>

  constructor(gate: SignInGate, api: ApiCall, navigate: (path: string) => void) {
    this.#gate = gate
    this.#api = api
    this.#navigate = navigate
    this.open = gate.open
  }

  /** What waits for a sign-in continues unless `run` throws or returns false: the person canceled. */
  async attempt(run: () => Promise<unknown>): Promise<boolean> {
    this.busy.value = true
    this.error.value = null
    try {
      if ((await run()) === false) return false
      this.#gate.resolveAll()
      return true
    } catch (caught) {
      if (caught instanceof ApiError && caught.code === 'code_required') this.needsCode.value = true
      this.error.value = caught instanceof Error ? caught.message : String(caught)
      return false
    } finally {
      this.busy.value = false
    }
  }

  /** `name`: of the person whose page this is, where there are several. */
  signIn(password: string, code?: string, name?: string): Promise<boolean> {
    return this.attempt(() => this.#api('POST /api/auth/login', { password, code, name }))
  }

  /** `afterwards` runs before the page is left. */
  async signOut(afterwards?: () => Promise<void>): Promise<void> {
    const { provider_url } = await this.#api('POST /api/auth/logout')
    try {
      await afterwards?.()
    } finally {
      this.#navigate(provider_url ?? 'login')
    }
  }

  /** Another tab signed in: what waits continues if that holds for this page too. */
  async resume(): Promise<void> {
    await this.attempt(async () => (await this.#api('GET /api/auth/status')).logged_in)
  }

  /** An EventSource doesn't report why it failed. Checks the session and waits for a sign-in when it has ended. Never rejects. */
  async check(): Promise<void> {
    try {
      const { auth_enabled, logged_in } = await this.#api('GET /api/auth/status')
      if (auth_enabled && !logged_in) await this.#gate.waitForSignIn()
    } catch (caught) {
      // Unreachable; the next attempt of the stream fails as well.
      if (!(caught instanceof ApiError)) throw caught
    }
  }
}
