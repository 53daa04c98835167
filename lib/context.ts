/** What every endpoint receives, and `endpoint` bound to it. */
import type { z } from 'zod'
import type { App } from './app/app.ts'
import { requireNamed } from './app/named.ts'
import { may } from './people/may.ts'
import { forbidden } from './errors.ts'
import { endpointFor } from './http/endpoint.ts'
import { BaseCtx, type CtxParameters } from './http/request-context.ts'
import type { Home } from './profiles/home.ts'
import type { Access } from './schema/person.ts'

export { controlGuard } from './turns/context/control-guard.ts'
export {
  mayChangeIn,
  maySession,
  readableProfiles,
  requireNamed,
  requireProfile,
  requireWorkspace,
} from './app/named.ts'

const homeOf = (app: App, { cookies, person }: BaseCtx): Home => {
  const home = app.homes.forCookie(cookies.agent_profile)
  if (may(person, 'read', home.name)) return home
  const profile = person.profiles?.find(name => app.homes.has(name))
  if (profile === undefined)
    throw forbidden('You were not given a profile yet. Ask an owner of this server.', {
      code: 'no_profile',
    })
  return app.homes.open(profile)
}

/** A class: when a property is defined on a single object, V8 keeps everything it refers to, such as the whole request, until its next full collection. */
export class Ctx extends BaseCtx {
  readonly app: App
  /** Whether the person may do this in a profile; null: in none. A function of its own, which can be passed on. */
  readonly may = (access: Access, profile: string | null): boolean =>
    may(this.person, access, profile)
  #home: Home | undefined

  constructor(app: App, ...base: CtxParameters) {
    super(...base)
    this.app = app
  }

  /** The profile of this request: its cookie's when valid, else the active one; of a person who was not given it, the first given one. */
  get home(): Home {
    // On first use, because resolving a home may read files.
    if (this.#home === undefined) {
      const home = homeOf(this.app, this)
      this.#home = this.isReadOnly ? home.lenient : home
    }
    return this.#home
  }
}

const describe = endpointFor<Ctx>()

/** Every endpoint checks what its input names before it runs. One that reads a form does so with the fields of it. */
export const endpoint: typeof describe = options => {
  const described = describe(options)
  return {
    ...described,
    run(ctx: Ctx, input: z.output<NonNullable<typeof described.input>>) {
      requireNamed(ctx, described, input)
      return described.run(ctx, input)
    },
  }
}

/** Throws a 403 unless the person is an owner. For a part of what an endpoint does. */
export const requireOwner = ({ person }: Ctx, sentence: string): void => {
  if (person.role !== 'owner') throw forbidden(sentence, { code: 'role_not_allowed' })
}

/** Routes that the role of the person refuses, so that the page does not offer them. */
export const refusedRoutes = (ctx: Ctx): string[] => {
  // Anyone who may do this may do everything. Looking at each route would load the code of all of them.
  if (ctx.may('own', null)) return []
  return ctx
    .routeAccess()
    .filter(([, access]) => !ctx.may(access, null))
    .map(([route]) => route)
}
