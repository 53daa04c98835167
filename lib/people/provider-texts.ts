/** Texts of the login page about signing in with a provider, by the same languages as the others. `{name}` is the provider's. */

type ProviderTexts = {
  oidc: string
  oidcJoin: string
  oidcUnknown: string
  oidcExpired: string
  oidcFailed: string
}

/** By the `lang` of the login page. */
const PROVIDER_TEXTS: Readonly<Record<string, ProviderTexts>> = {
  en: {
    oidc: 'Sign in with {name}',
    oidcJoin: 'Join with {name}',
    oidcUnknown: 'This account has no access here. Ask the owner to add you.',
    oidcExpired: 'This sign-in took too long. Try again.',
    oidcFailed: '{name} didn’t sign you in. Try again, or use the password.',
  },
  'es-ES': {
    oidc: 'Entrar con {name}',
    oidcJoin: 'Unirse con {name}',
    oidcUnknown: 'Esta cuenta no tiene acceso. Pide a la persona propietaria que te añada.',
    oidcExpired: 'El inicio de sesión ha tardado demasiado. Inténtalo de nuevo.',
    oidcFailed: 'No se ha podido entrar con {name}. Inténtalo de nuevo o usa la contraseña.',
  },
  'pt-BR': {
    oidc: 'Entrar com {name}',
    oidcJoin: 'Entrar com {name}',
    oidcUnknown: 'Esta conta não tem acesso. Peça ao proprietário para adicionar você.',
    oidcExpired: 'O login demorou demais. Tente de novo.',
    oidcFailed: 'Não foi possível entrar com {name}. Tente de novo ou use a senha.',
  },
  'de-DE': {
    oidc: 'Mit {name} anmelden',
    oidcJoin: 'Mit {name} beitreten',
    oidcUnknown: 'Dieses Konto hat hier keinen Zugang. Lass dich vom Besitzer hinzufügen.',
    oidcExpired: 'Die Anmeldung hat zu lange gedauert. Versuch es noch einmal.',
    oidcFailed:
      'Die Anmeldung mit {name} hat nicht geklappt. Versuch es noch einmal, oder nimm das Passwort.',
  },
  'fr-FR': {
    oidc: 'Se connecter avec {name}',
    oidcJoin: 'Rejoindre avec {name}',
    oidcUnknown: 'Ce compte n’a pas accès. Demandez au propriétaire de vous ajouter.',
    oidcExpired: 'La connexion a pris trop de temps. Réessayez.',
    oidcFailed: 'La connexion avec {name} a échoué. Réessayez, ou utilisez le mot de passe.',
  },
  'ru-RU': {
    oidc: 'Войти через {name}',
    oidcJoin: 'Присоединиться через {name}',
    oidcUnknown: 'У этой учётной записи нет доступа. Попросите владельца добавить вас.',
    oidcExpired: 'Вход занял слишком много времени. Попробуйте ещё раз.',
    oidcFailed: 'Войти через {name} не удалось. Попробуйте ещё раз или введите пароль.',
  },
  'ja-JP': {
    oidc: '{name}でサインイン',
    oidcJoin: '{name}で参加',
    oidcUnknown: 'このアカウントではアクセスできません。所有者に追加を依頼してください。',
    oidcExpired: 'サインインに時間がかかりすぎました。もう一度お試しください。',
    oidcFailed: '{name}でサインインできませんでした。もう一度試すか、パスワードを使ってください。',
  },
  'ko-KR': {
    oidc: '{name} 계정으로 로그인',
    oidcJoin: '{name} 계정으로 참여',
    oidcUnknown: '이 계정으로는 들어올 수 없어요. 소유자에게 추가를 요청하세요.',
    oidcExpired: '로그인이 너무 오래 걸렸어요. 다시 시도하세요.',
    oidcFailed: '{name} 계정으로 로그인하지 못했어요. 다시 시도하거나 비밀번호를 사용하세요.',
  },
  'zh-CN': {
    oidc: '使用 {name} 登录',
    oidcJoin: '使用 {name} 加入',
    oidcUnknown: '此账号没有访问权限。请让所有者添加你。',
    oidcExpired: '登录用时过长。请重试。',
    oidcFailed: '使用 {name} 登录失败。请重试，或使用密码。',
  },
  'zh-TW': {
    oidc: '使用 {name} 登入',
    oidcJoin: '使用 {name} 加入',
    oidcUnknown: '此帳號沒有存取權限。請擁有者新增你。',
    oidcExpired: '登入時間過長。請再試一次。',
    oidcFailed: '使用 {name} 登入失敗。請再試一次，或使用密碼。',
  },
  ar: {
    oidc: 'تسجيل الدخول عبر {name}',
    oidcJoin: 'انضمام عبر {name}',
    oidcUnknown: 'لا يملك هذا الحساب صلاحية الدخول. اطلب من المالك إضافتك.',
    oidcExpired: 'استغرق تسجيل الدخول وقتًا طويلًا. أعد المحاولة.',
    oidcFailed: 'تعذّر تسجيل الدخول عبر {name}. أعد المحاولة أو استخدم كلمة المرور.',
  },
}

export const unknownText = (lang: string): string => PROVIDER_TEXTS[lang]?.oidcUnknown ?? ''

/** With the name of the provider; empty without one, and then nothing of it is shown. */
export const providerTexts = (lang: string, name: string | null): Partial<ProviderTexts> => {
  const texts = PROVIDER_TEXTS[lang]
  if (name === null || !texts) return {}
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, text.replace('{name}', () => name)]),
  )
}
