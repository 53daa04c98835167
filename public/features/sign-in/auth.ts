/** Sign-in state. Requests that get a 401 wait here and are repeated after the user signs in. */
import { type Signal, signal } from '@preact/signals'
import { ApiError, type ApiCall } from '../../api.ts'

export type SignInGate = {
  open: Signal<boolean>
  /** Resolves after the next successful sign-in. */
  waitForSignIn: () => Promise<void>
  resolveAll: () => void
}

export const createSignInGate = (): SignInGate => {
  const open = signal(false)
  const waiting: (() => void)[] = []
  return {
    open,
    waitForSignIn: () =>
      new Promise(resolve => {
        waiting.push(resolve)
        open.value = true
      }),
    resolveAll() {
      open.value = false
      for (const resume of waiting.splice(0)) resume()
    },
  }
}

export const createAuth = (gate: SignInGate, api: ApiCall, navigate: (path: string) => void) => {
  const busy = signal(false)
  const error = signal<string | null>(null)
  const needsCode = signal(false)

  /** What waits for a sign-in continues unless `run` throws or returns false: the person canceled. */
  const attempt = async (run: () => Promise<unknown>): Promise<boolean> => {
    busy.value = true
    error.value = null
    try {
      if ((await run()) === false) return false
      gate.resolveAll()
      return true
    } catch (caught) {
      if (caught instanceof ApiError && caught.code === 'code_required') needsCode.value = true
      error.value = caught instanceof Error ? caught.message : String(caught)
      return false
    } finally {
      busy.value = false
    }
  }

  return {
    open: gate.open,
    busy,
    error,
    /** Whether the password needs a code beside it. */
    needsCode,
    attempt,
    /** `name`: of the person whose page this is, where there are several. */
    signIn: (password: string, code?: string, name?: string) =>
      attempt(() => api('POST /api/auth/login', { password, code, name })),
    /** `afterwards` runs before the page is left. */
    async signOut(afterwards?: () => Promise<void>): Promise<void> {
      const { provider_url } = await api('POST /api/auth/logout')
      try {
        await afterwards?.()
      } finally {
        navigate(provider_url ?? 'login')
      }
    },
    /** Another tab signed in: what waits continues if that holds for this page too. */
    async resume(): Promise<void> {
      await attempt(async () => (await api('GET /api/auth/status')).logged_in)
    },
    /** An EventSource doesn't report why it failed. Checks the session and waits for a sign-in when it has ended. Never rejects. */
    async check(): Promise<void> {
      try {
        const { auth_enabled, logged_in } = await api('GET /api/auth/status')
        if (auth_enabled && !logged_in) await gate.waitForSignIn()
      } catch (caught) {
        // Unreachable; the next attempt of the stream fails as well.
        if (!(caught instanceof ApiError)) throw caught
      }
    },
  }
}

export type Auth = ReturnType<typeof createAuth>
