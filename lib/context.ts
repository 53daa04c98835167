/** What every endpoint receives, and `endpoint` bound to it. */
import type { App } from './app/app.ts'
import { endpointFor } from './http/endpoint.ts'
import type { BaseCtx } from './http/request-context.ts'
import type { Home } from './profiles/home.ts'

/** `home` is the profile of this request: its cookie's when valid, else the active one's. */
export type Ctx = BaseCtx & { app: App; home: Home }

export const endpoint = endpointFor<Ctx>()

/** Adds the app and, resolved on first use, the home: resolving a home may read files. */
export const createContext = (app: App, base: BaseCtx): Ctx => {
  const ctx = Object.assign(base, { app })
  return Object.defineProperty(ctx, 'home', {
    configurable: true,
    get: () => {
      const found = app.homes.forCookie(base.cookies.agent_profile)
      const value = base.isReadOnly ? found.lenient : found
      Object.defineProperty(ctx, 'home', { value })
      return value
    },
  }) as Ctx
}
