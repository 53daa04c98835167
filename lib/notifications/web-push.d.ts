/** Types of the functions of web-push that are used here; the package has none. */
declare module 'web-push' {
  const webPush: {
    generateVAPIDKeys(): { publicKey: string; privateKey: string }
    generateRequestDetails(
      subscription: { endpoint: string; keys: { p256dh: string; auth: string } },
      payload: string,
      options: {
        vapidDetails: { subject: string; publicKey: string; privateKey: string }
        TTL: number
        urgency: 'normal' | 'high'
        topic: string
      },
    ): { headers: Record<string, string | number>; body: Buffer; endpoint: string }
  }
  export default webPush
}
