/** What every endpoint receives, and `endpoint` bound to it. */
import type { App } from './app/app.ts'
import { endpointFor } from './http/endpoint.ts'
import type { BaseCtx } from './http/request-context.ts'
import type { Home } from './profiles/home.ts'

/** `home` is the profile of this request: its cookie's when valid, else the active one's. */
export type Ctx = BaseCtx & { app: App; home: Home }

export const endpoint = endpointFor<Ctx>()
