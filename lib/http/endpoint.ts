/** The one silhouette of everything that can be called over HTTP, generic in the context so that it knows no domain. */
import type { z } from 'zod'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** What one route is. `run` returns its answer: a JSON value, or a description made in `reply.ts`; refusals are thrown. */
export type Endpoint<Ctx, I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = {
  /** One sentence, shown in the OpenAPI document. */
  summary: string
  /** Query (GET) or JSON body (any other method); absent means the endpoint takes nothing. */
  input?: I
  /** The JSON answer. Checked in development and tests only; `raw` endpoints have none. */
  output?: O
  /** Answers without a session cookie even when a password is set. Absent means no. */
  public?: true
  /** A person's address-bar request: without a valid cookie it is redirected to /login instead of refused. */
  page?: true
  /** Answers bytes, HTML or an event stream rather than JSON; says which media type. */
  raw?: string
  /** The body is multipart/form-data and `run` reads it from `ctx.req`. */
  multipart?: true
  /** A GET that changes something: HEAD is refused, and so is a cross-site request. */
  effects?: true
  /** Only when the socket's peer is loopback and no forwarding header is present; others get 404. */
  loopback?: true
  /** `Cache-Control` of the answer; `no-cache` with an ETag when absent. */
  cache?: 'no-store'
  run: (ctx: Ctx, input: z.output<I>) => unknown
}

/** `endpointFor<Ctx>()({…})` infers input and checks that `run` answers what `output` says. */
export const endpointFor =
  <Ctx>() =>
  <I extends z.ZodType, O extends z.ZodType>(
    endpoint: Omit<Endpoint<Ctx, I, O>, 'run'> & {
      run: (ctx: Ctx, input: z.output<I>) => z.input<O> | Reply | Promise<z.input<O> | Reply>
    },
  ): Endpoint<Ctx, I, O> =>
    endpoint as Endpoint<Ctx, I, O>

/** A described answer; see `reply.ts`. The brand keeps a JSON value from being mistaken for one. */
export const REPLY = Symbol('reply')
export type Reply = { readonly [REPLY]: true }

/** `'POST /api/chat/start'` → endpoint. */
// biome-ignore lint/suspicious/noExplicitAny: each entry has its own input and context type
export type RouteTable = Record<`${Method} /${string}`, Endpoint<any, any, any>>

/** What a browser needs to know of a table: path → input and output. */
export type ApiOf<T extends RouteTable> = {
  [K in keyof T]: T[K] extends Endpoint<never, infer I, infer O>
    ? { input: z.input<I>; output: z.output<O> }
    : never
}
