package placement

var SecretMakers = secretMakers
