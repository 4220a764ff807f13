//! Keys to registries and proxies, wherever they stand, and texts without them.

use super::source::Source;

/// What stands in place of a key.
const HIDDEN: &str = "****";
/// A key that is shorter than this is hidden in addresses only: as a word it may mean anything.
const MIN_WORD_BYTES: usize = 4;

impl Source {
    /// The same place for somebody who runs code of packages: no keys, no addresses, no network and
    /// no files. What stays keeps the installers from looking for a configuration elsewhere.
    #[must_use]
    pub fn without_keys(&self) -> Self {
        const KEPT: [&str; 3] =
            ["PIP_CONFIG_FILE", "npm_config_globalconfig", "npm_config_userconfig"];
        let mut source = Self::default();
        let kept = self.env.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
        source.env.extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        source
    }

    /// A text in which no key of this source stands.
    pub fn redacted(&self, text: &str) -> String {
        let mut keys = self.keys();
        // A key may hold another one.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
        let text = keys.iter().fold(text.to_owned(), |text, key| text.replace(key, HIDDEN));
        without_user_info(&text)
    }

    /// Whether a key stands in a text.
    pub fn has_key_in(&self, text: &str) -> bool {
        self.keys().iter().any(|key| text.contains(key))
    }

    /// Every key: values of npm's own options for them, and what stands before the `@` of an
    /// address, as it stands there and as it is meant.
    fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for (name, value) in &self.env {
            if name.starts_with("npm_config_//") {
                keys.push(value.clone());
            }
            for info in value.split_whitespace().filter_map(user_info) {
                let secret = match info.split_once(':') {
                    Some((_, password)) if !password.is_empty() => password,
                    // A key that stands alone stands where a name would.
                    _ => info.trim_end_matches(':'),
                };
                keys.extend([info.to_owned(), secret.to_owned(), decoded(secret)]);
            }
        }
        keys.retain(|key| key.len() >= MIN_WORD_BYTES);
        keys
    }
}

/// What stands before the `@` of an address. A proxy may be named without a scheme.
fn user_info(address: &str) -> Option<&str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once('@').map(|(info, _)| info).filter(|info| !info.is_empty())
}

/// A text in which no address has a name or a password.
fn without_user_info(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || "/?#'\"<>".contains(c));
        let (authority, others) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                clean.push_str(HIDDEN);
                clean.push('@');
                clean.push_str(host);
            }
            None => clean.push_str(authority),
        }
        rest = others;
    }
    clean.push_str(rest);
    clean
}

/// A text with its `%XX` as the characters that they mean.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(env: &[(&str, &str)]) -> Source {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Source { env: env.collect(), ..Source::default() }
    }

    #[test]
    fn whoever_builds_gets_no_address_at_all() {
        let mut full = source(&[
            ("PIP_CONFIG_FILE", "/dev/null"),
            ("PIP_INDEX_URL", "https://me:hush@r.example/simple"),
            ("PIP_EXTRA_INDEX_URL", "https://a.example https://token@b.example"),
            ("npm_config_registry", "https://me:hush@r.example/"),
            ("npm_config_//r.example/:_authToken", "hush"),
            ("HTTPS_PROXY", "me:hush@proxy.example:3128"),
            ("all_proxy", "http://me:hush@proxy.example:3128"),
        ]);
        full.hosts.insert("r.example:443".to_owned());
        full.paths.insert("/etc/client.pem".into());
        let without = full.without_keys();
        assert_eq!(without, source(&[("PIP_CONFIG_FILE", "/dev/null")]));
    }

    #[test]
    fn keys_stand_in_no_text() {
        let source = source(&[
            ("PIP_INDEX_URL", "https://me:hu%24h-1@r.example/simple"),
            ("PIP_EXTRA_INDEX_URL", "https://a.example https://token9@b.example"),
            ("npm_config_//r.example/:_authToken", "npm-key"),
            ("HTTPS_PROXY", "you:proxy-key@proxy.example:3128"),
        ]);
        let text = "at https://me:hu%24h-1@r.example/x, hu$h-1, hu%24h-1; token9 npm-key \
                    proxy-key you:proxy-key@proxy http://a:b@c.example/d";
        let clean = source.redacted(text);
        for key in ["hu%24h-1", "hu$h-1", "token9", "npm-key", "proxy-key", "a:b@"] {
            assert!(!clean.contains(key), "{key}: {clean}");
            assert!(key == "a:b@" || source.has_key_in(key), "{key}");
        }
        assert!(clean.contains("r.example/x") && clean.contains("c.example/d"), "{clean}");
        assert_eq!(source.redacted("nothing here: a@b"), "nothing here: a@b");
    }
}
