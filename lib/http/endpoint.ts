/** The shape of an endpoint, generic in the context so that it depends on no domain module. */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Access } from '../schema/person.ts'
import type { ErrorBody } from './error-reply.ts'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** One endpoint. `run` returns a JSON value or a reply made with `reply.ts`; it throws a `UserError` to reject. */
export type Endpoint<Ctx, I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = {
  /** One sentence, shown in the OpenAPI document. */
  summary: string
  /** Schema of the query (GET) or the JSON body (other methods). Absent: no input. */
  input?: I
  /** Schema of the JSON reply, checked in development and tests only. Absent for `raw` endpoints. */
  output?: O
  /**
   * What it asks of the person. Default: `own`. Profiles, sessions and the like that the input names are checked by
   * `lib/app/named.ts`; an endpoint about several profiles leaves out those that the person was not given.
   */
  access?: Access
  /** Available without a sign-in, even when a password is set. */
  public?: true
  /**
   * Its reply is sent as it is: the person's own view of a file, or a new secret that is shown once. Every other reply has the
   * known secrets of the process masked; errors always.
   */
  exact?: true
  /** For programs: admitted by an API token instead of a sign-in. Programs that the agent started are always rejected. */
  byToken?: true
  /** The body of an error reply in the form of the API that the endpoint implements, and additional headers. */
  errorBody?: (
    error: { status: number; body: ErrorBody; requestId: string },
    headers: IncomingHttpHeaders,
  ) => { body: unknown; headers: Readonly<Record<string, string>> }
  /** A page: without a sign-in it redirects to /login instead of replying 401. */
  page?: true
  /** Media type of a reply that is not JSON: bytes, HTML or an event stream. */
  raw?: string
  /** The body is multipart/form-data and `run` reads it from `ctx.req`. */
  multipart?: true
  /** Limit of the form. Default: that of every body. */
  maxBytes?: number
  /** A GET with side effects: HEAD and cross-site requests are rejected. */
  effects?: true
  /** A GET that a page of another site ends with, as a sign-in does: `run` proves that this browser began it. */
  linked?: true
  /** Only for loopback peers without a forwarding header; others get a 404. */
  loopback?: true
  /** Asked for all the time by a program: logged at the level `debug`. */
  quiet?: true
  /** `Cache-Control` of the reply. Default: `no-cache` with an ETag. */
  cache?: 'no-store'
  /**
   * It starts or creates something: requests with the same `Idempotency-Key` are carried out once (`once.ts`). `disk`: the
   * reply is kept over a restart; `memory`: it is not, because it holds a secret or the text of a chat.
   */
  once?: 'disk' | 'memory'
  /** Where the first reply of a key is lost, for example because the process was killed, `run` recognizes by `ctx.requestKey` what was done. */
  recognizes?: true
  /** Called after `run`, with its error if it failed: records the request in the audit log. */
  audit?: (ctx: Ctx, input: z.output<I>, error?: unknown) => void
  run: (ctx: Ctx, input: z.output<I>) => unknown
}

/** `endpointFor<Ctx>()({…})` infers the input and checks the result of `run` against `output`. */
export const endpointFor =
  <Ctx>() =>
  <I extends z.ZodType, O extends z.ZodType>(
    endpoint: Omit<Endpoint<Ctx, I, O>, 'run'> & {
      run: (ctx: Ctx, input: z.output<I>) => z.input<O> | Reply | Promise<z.input<O> | Reply>
    },
  ): Endpoint<Ctx, I, O> =>
    endpoint as Endpoint<Ctx, I, O>

/** A reply made with `reply.ts`. The symbol distinguishes it from a JSON value. */
export const REPLY = Symbol('reply')
export type Reply = { readonly [REPLY]: true }

/** An endpoint with whatever types. */
// biome-ignore lint/suspicious/noExplicitAny: parameters of `run` are contravariant, so no endpoint is assignable to `unknown`
export type AnyEndpoint = Endpoint<any, any, any>

/** `'POST /api/chat/start'` → endpoint. */
export type RouteTable = Record<`${Method} /${string}`, AnyEndpoint>

/** The types of a route table for the browser: route → input and output. */
export type ApiOf<T extends RouteTable> = {
  [K in keyof T]: T[K] extends Endpoint<never, infer I, infer O>
    ? { input: z.input<I>; output: z.output<O> }
    : never
}
