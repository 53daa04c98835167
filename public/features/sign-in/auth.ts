/** The one sign-in sheet: whoever meets a 401 waits here, and goes on when the person has signed in again. */
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

  return {
    open: gate.open,
    busy,
    error,
    async signIn(password: string): Promise<boolean> {
      busy.value = true
      error.value = null
      try {
        await api('POST /api/auth/login', { password })
        gate.resolveAll()
        return true
      } catch (caught) {
        error.value = caught instanceof Error ? caught.message : String(caught)
        return false
      } finally {
        busy.value = false
      }
    },
    devices: async () => (await api('GET /api/auth/devices')).devices,
    /** Signs one device out, or with null all but this one. */
    revoke: (id: string | null) =>
      api('POST /api/auth/revoke', id === null ? { others: true } : { id }),
    async signOut(): Promise<void> {
      await api('POST /api/auth/logout')
      navigate('login')
    },
    /** A stream that was refused does not say why: asks, and waits at the gate when the session has ended. Never rejects. */
    async check(): Promise<void> {
      try {
        const { auth_enabled, logged_in } = await api('GET /api/auth/status')
        if (auth_enabled && !logged_in) await gate.waitForSignIn()
      } catch (caught) {
        // Unreachable: the next attempt of the stream will show it.
        if (!(caught instanceof ApiError)) throw caught
      }
    },
  }
}

export type Auth = ReturnType<typeof createAuth>
