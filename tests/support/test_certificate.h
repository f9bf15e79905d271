// A self-signed certificate for "localhost" and its key, valid for a hundred
// years. Only for tests: the key is public.

#pragma once

namespace grpc_resilience::test {

inline constexpr char kTestCertificate[] = R"pem(-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUaWOiJAzfGsFZZk1XkIyplHy7PRQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDA4MjY0M1oYDzIxMjYxMTA2
MDgyNjQzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAS1g6A2vDbVAf0fnkoBN916Dz7erUWG4jLlwHqrTeMkB6MQeHdhXcIn
VIW2PZeR891XL3qCGPkgs8IkobzHse3Po28wbTAdBgNVHQ4EFgQUc8JOlyds61AM
vG/0P4pgkIxEQhIwHwYDVR0jBBgwFoAUc8JOlyds61AMvG/0P4pgkIxEQhIwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgKZZK8LeDfKSx3sfQNShA9HOxKNOBr6FYt45RU9ibE4ICIQC/
6v5z6T8Wqmh2IMvnpkMIBOaEcZLPVEzmETNng2FSKg==
-----END CERTIFICATE-----
)pem";

inline constexpr char kTestKey[] = R"pem(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgU0C1VUJU6Q25IQyy
qjJ1WPqLLzZ2I2LNiyk5CAIdwmehRANCAAS1g6A2vDbVAf0fnkoBN916Dz7erUWG
4jLlwHqrTeMkB6MQeHdhXcInVIW2PZeR891XL3qCGPkgs8IkobzHse3P
-----END PRIVATE KEY-----
)pem";

}  // namespace grpc_resilience::test
